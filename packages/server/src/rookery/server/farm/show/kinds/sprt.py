"""Sequential tests on pages."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import ClassVar

from rookery.core.model.kinds import SprtTest
from rookery.core.model.task import Results
from rookery.core.stats.elo import live_elo, score_bounds
from rookery.core.stats.likelihood import logistic_ratio, normalised_ratio
from rookery.core.stats.numbers import NELO_PER_SIGMA, elo_of, moments
from rookery.core.stats.sprt import Sprt, SprtState
from rookery.server.farm.rules.answers import ChartPoint
from rookery.server.farm.show.charts import Chart, ReferenceLine, draw_chart, make_scale, place
from rookery.server.farm.show.dials import Dial, draw_dial
from rookery.server.farm.show.kinds.kind_page import ComparingPage, draw_elo_chart
from rookery.server.farm.show.run_parts import SCALES, FigureGroup, FormPart, NamedValue
from rookery.server.http.form import NUMBER, WHOLE, Input, declare
from rookery.server.http.pages.drawing import Point
from rookery.server.http.pages.formatting import (
    format_count,
    format_decimal,
    format_elo_interval,
    format_fixed,
    format_llr_bounds,
    format_percent,
    format_signed,
)
from rookery.server.http.pages.marks import LlrBar, draw_llr_bar
from rookery.server.runs.run.statistics import ShownElo

MOST_BEYOND = 0.25
"""How far beyond its bounds a ratio is drawn, as a fraction of the distance between them."""
EARLY_VERDICT = (
    "Decided a little before the bound: results jump beyond it, and the mean jump is taken off."
)
EARLY_STOP = (
    "A group's Elo is taken from its games alone; the test's own, above, also allows for stopping"
    " at a lucky moment."
)
FORM = FormPart(
    "sprt",
    "Gain or no regression (SPRT)",
    declare(
        Input("sprt.elo0", "Lower bound (nElo)", NUMBER, style="of-sprt"),
        Input("sprt.elo1", "Upper bound (nElo)", NUMBER, style="of-sprt"),
        Input("sprt.alpha", "alpha", NUMBER, "False positive rate. Default: 0.05."),
        Input("sprt.beta", "beta", NUMBER, "False negative rate."),
        Input("sprt.batch_size", "Pairs per report", WHOLE, "Default: by game length."),
    ),
    folded=frozenset({"sprt.alpha", "sprt.beta", "sprt.batch_size"}),
    error_input="sprt.elo1",
)


@dataclass(frozen=True, slots=True)
class SprtPage(ComparingPage):
    """A sequential test."""

    form: ClassVar = FORM
    contributions_note: ClassVar = EARLY_STOP
    kind: SprtTest

    @property
    def verdict_note(self) -> str:
        return EARLY_VERDICT if self.kind.is_early else ""

    def describe_question(self, games: int) -> str:
        del games
        spec = self.kind.spec
        what = "no regression" if self.kind.is_simplification else "gain"
        return f"{what} [{format_decimal(spec.elo0)}, {format_decimal(spec.elo1)}]"

    def describe_aim(self, new: str, base: str) -> str:
        spec = self.kind.spec
        low, high, scale = format_decimal(spec.elo0), format_decimal(spec.elo1), SCALES[spec.model]
        claim = "no weaker" if self.kind.is_simplification else "stronger"
        return f"Tests whether {new} is {claim} than {base} (bounds {low} and {high} {scale})"

    def describe_share(self, results: Results, games: int) -> str:
        del results, games
        return ""

    def list_settings(self) -> Iterator[NamedValue]:
        spec = self.kind.spec
        bounds = f"[{format_decimal(spec.elo0)}, {format_decimal(spec.elo1)}]"
        yield NamedValue("Bounds", f"{bounds} {SCALES[spec.model]}")
        rates = f"α {format_decimal(spec.alpha)}, β {format_decimal(spec.beta)}"
        yield NamedValue("Error rates", rates)
        yield NamedValue("Pairs in a batch", str(spec.batch_size))

    def list_figures(self, results: Results) -> Iterator[FigureGroup]:
        yield FigureGroup("The sequential test", tuple(_list_test(self.kind, results)))
        yield FigureGroup(
            "Bounds on other scales",
            tuple(_list_bounds(self.kind.spec, results)),
            "As the spread of these results translates them.",
        )

    def list_ratios(self, bins: Sequence[int]) -> Iterator[NamedValue]:
        """The log-likelihood ratio when the same numbers are bounds on either Elo scale."""
        spec = self.kind.spec
        yield NamedValue("LLR, normalised", f"{normalised_ratio(bins, spec.elo0, spec.elo1):.4f}")
        yield NamedValue("LLR, logistic", f"{logistic_ratio(bins, spec.elo0, spec.elo1):.4f}")

    def draw_bar(self, before: float | None) -> LlrBar | None:
        return draw_llr_bar(self.kind.llr, self.kind.spec.lower, self.kind.spec.upper, before)

    def draw_dials(self) -> tuple[Dial, ...]:
        return (_draw_llr(self.kind),)

    def draw_charts(self, points: Sequence[ChartPoint], elo: ShownElo | None) -> tuple[Chart, ...]:
        if len(points) < 2:
            return ()
        return draw_elo_chart(self.kind, points, elo), _draw_llr_chart(self.kind, points)

    def list_fields(self) -> Mapping[str, object]:
        spec = self.kind.spec
        return {name: getattr(spec, name) for name in ("elo0", "elo1", "alpha", "beta")}

    @staticmethod
    def summarise_fields(texts: Mapping[str, str]) -> str:
        if "sprt.elo0" not in texts:
            return ""
        return f"[{texts['sprt.elo0']}, {texts['sprt.elo1']}]"

    @staticmethod
    def describe_preset(settings: Mapping[str, object]) -> tuple[str, str]:
        bounds = (str(settings.get(each, "–")).removesuffix(".0") for each in ("elo0", "elo1"))
        return "bounds", f"[{', '.join(bounds)}]"


def _draw_llr(kind: SprtTest) -> Dial:
    spec, llr = kind.spec, kind.state.llr
    share = (llr - spec.lower) / (spec.upper - spec.lower)
    zero = -spec.lower / (spec.upper - spec.lower)
    return draw_dial(
        "LLR",
        format_fixed(llr),
        format_llr_bounds(llr, spec.lower, spec.upper),
        (f"fail {format_fixed(spec.lower)}", f"pass {format_fixed(spec.upper)}"),
        share,
        zero,
    )


def _draw_llr_chart(kind: SprtTest, samples: Sequence[ChartPoint]) -> Chart:
    spec = kind.spec
    # One large step may go far beyond a bound; the range between the bounds must stay readable.
    beyond = (spec.upper - spec.lower) * MOST_BEYOND
    low, high = spec.lower - beyond, spec.upper + beyond
    ratios = ((float(one.games), min(max(one.llr, low), high)) for one in samples)
    line: list[Point] = [(0.0, 0.0), *ratios]
    values = [y for _, y in line]
    scale = make_scale(line[-1][0], min(spec.lower, *values), max(spec.upper, *values))
    top, bottom = scale.y(spec.upper), scale.y(spec.lower)
    rules = (
        ReferenceLine(place(top), f"pass {format_fixed(spec.upper)}", place(top + 14)),
        ReferenceLine(place(bottom), f"fail {format_fixed(spec.lower)}", place(bottom - 6)),
    )
    last = format_fixed(samples[-1].llr if samples else 0.0)
    return draw_chart("llr", "LLR over games", scale, line, rules=rules, last=last)


def _list_test(kind: SprtTest, results: Results) -> Iterator[NamedValue]:
    spec, state = kind.spec, kind.state
    lower, upper = state.bounds(spec)
    scale = SCALES[spec.model]
    yield NamedValue("H0", f"{format_decimal(spec.elo0)} {scale}")
    yield NamedValue("H1", f"{format_decimal(spec.elo1)} {scale}")
    yield NamedValue("α", format_decimal(spec.alpha))
    yield NamedValue("β", format_decimal(spec.beta))
    yield NamedValue("Batch", f"{format_count(spec.batch_size)} pairs")
    yield NamedValue("LLR", f"{state.llr:.4f}")
    yield NamedValue("Bounds", f"[{spec.lower:.4f}, {spec.upper:.4f}]")
    yield NamedValue("Bounds that decide", f"[{lower:.4f}, {upper:.4f}]")
    yield from _list_overshoot(state)
    found = live_elo(spec, results.pentanomial, results.trinomial)
    yield NamedValue("Elo, median-unbiased", format_elo_interval(found.elo, found.low, found.high))
    yield NamedValue("LOS", format_percent(found.los))


def _list_overshoot(state: SprtState) -> Iterator[NamedValue]:
    jumps = state.overshoot
    if jumps is None:
        text = f"dropped, as {format_count(state.lost_samples)} pairs were struck out"
        yield NamedValue("Overshoot", text)
        return
    yield NamedValue("Overshoot, low", f"{jumps.low:.4f}")
    yield NamedValue("Overshoot, high", f"{jumps.high:.4f}")
    yield NamedValue("Updates skipped", format_count(jumps.skipped_updates))


def _list_bounds(spec: Sprt, results: Results) -> Iterator[NamedValue]:
    pairs = results.pentanomial
    counted = moments(pairs)
    scores = score_bounds(spec, counted, pairs, results.trinomial)
    for name, score in zip(("H0", "H1"), scores, strict=True):
        sigmas = (score - 0.5) / sqrt(counted.variance)
        nelo = sigmas * NELO_PER_SIGMA / sqrt(counted.games_per_sample)
        yield NamedValue(f"{name} as a score", f"{score:.5f}")
        yield NamedValue(f"{name} in logistic Elo", format_signed(elo_of(score)))
        yield NamedValue(f"{name} in normalised Elo", format_signed(nelo))
