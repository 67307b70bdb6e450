"""Sequential tests on pages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rookery.core.model.kinds import SprtTest
from rookery.server.farm.rules.answers import ChartPoint
from rookery.server.http.form import NUMBER, WHOLE, Input, declare
from rookery.server.http.pages.drawing import Point
from rookery.server.http.pages.formatting import format_decimal, format_fixed
from rookery.server.show.charts import Chart, ReferenceLine, draw_chart, make_scale, place
from rookery.server.show.kinds.kind_page import ComparingPage, draw_elo_chart
from rookery.server.show.run_parts import FormPart, name_scale, spell_bounds
from rookery.server.show.statistics import ShownElo

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
        return f"{what} {spell_bounds(spec)}"

    def describe_aim(self, new: str, base: str) -> str:
        spec = self.kind.spec
        low, high, scale = format_decimal(spec.elo0), format_decimal(spec.elo1), name_scale(spec)
        claim = "no weaker" if self.kind.is_simplification else "stronger"
        return f"Tests whether {new} is {claim} than {base} (bounds {low} and {high} {scale})"

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
