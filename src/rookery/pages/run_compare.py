"""What if: how a run would have fared under other bounds, and beside another run."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rookery.boundary.domains import Domain, runs
from rookery.model.kinds import SprtTest
from rookery.model.run import Run
from rookery.pages.formatting import (
    DASH,
    format_count,
    format_decimal,
    format_elo,
    format_elo_interval,
    format_llr,
    format_percent,
    format_plural,
)
from rookery.pages.page import find_run_for, render_page_in_thread, viewer_of
from rookery.pages.run_description import SCALES, describe_conditions, describe_question
from rookery.pages.run_heading import RunHeading, make_run_heading
from rookery.pages.run_row import label_status
from rookery.pages.run_statistics import estimate_fixed_elo, estimate_run_elo
from rookery.rules.answers import ChartPoint
from rookery.stats.numbers import Z95, StatisticsFault, cdf
from rookery.stats.sprt import EloModel, Sprt
from rookery.web.answers import site_of
from rookery.web.callers import find_shown_run
from rookery.web.faults import HttpFault

RUN_ID = re.compile(r"[0-9a-f]{24}", re.ASCII)
LONGEST_ADDRESS = 300
LONGEST_NUMBER = 12
MODELS = (EloModel.NORMALISED, EloModel.LOGISTIC)


@dataclass(frozen=True, slots=True)
class CompareForm:
    """What was typed, and what is wrong with it, by field."""

    texts: Mapping[str, str]
    errors: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CompareData:
    run: Run
    now: datetime
    form: CompareForm
    samples: tuple[ChartPoint, ...] = ()
    spec: Sprt | None = None
    """The other bounds, where some were asked for."""
    other: Run | None = None


@dataclass(frozen=True, slots=True)
class ComparedRow:
    name: str
    ours: str
    theirs: str


@dataclass(frozen=True, slots=True)
class CompareView:
    heading: RunHeading
    form: CompareForm
    scales: tuple[tuple[str, str], ...]
    would_have: tuple[str, ...]
    other: RunHeading | None
    rows: tuple[ComparedRow, ...]
    difference: str


@runs(Domain.THREAD, "loads on the loop, computed and rendered in a thread")
async def compare_page(request: Request) -> Response:
    site, viewer = site_of(request), await viewer_of(request)
    run = await find_run_for(viewer, request)
    texts = {
        name: request.query_params.get(name, "").strip()[:LONGEST_ADDRESS]
        for name in ("with", "elo0", "elo1", "model")
    }
    errors: dict[str, str] = {}
    other = None
    if texts["with"]:
        try:
            other = await find_shown_run(site, read_run_id(texts["with"]), viewer)
        except HttpFault:
            errors["with"] = "There is no such run."
    spec = read_bounds(run, texts, errors)
    samples = await site.reads.samples(run.id) if spec else ()
    data = CompareData(run, site.clock.now(), CompareForm(texts, errors), samples, spec, other)
    return await render_page_in_thread(request, "run_compare.html", make_compare_view, data)


def read_run_id(text: str) -> str:
    """The id in what somebody pasted: an id or an address that holds one."""
    found = RUN_ID.search(text)
    return found[0] if found else text


def read_bounds(run: Run, texts: Mapping[str, str], errors: dict[str, str]) -> Sprt | None:
    """The bounds that were typed; None where none were, or where something is wrong with them."""
    if not (texts["elo0"] or texts["elo1"]):
        return None
    found = {name: _read_number(texts[name]) for name in ("elo0", "elo1")}
    errors |= {name: "This is no number." for name, value in found.items() if value is None}
    low, high = found["elo0"], found["elo1"]
    if low is None or high is None:
        return None
    own = run.kind.spec if isinstance(run.kind, SprtTest) else Sprt(0.0, 2.0)
    model = next((each for each in MODELS if each.value == texts["model"]), MODELS[0])
    try:
        return Sprt(low, high, model, own.alpha, own.beta)
    except StatisticsFault as fault:
        errors["elo1"] = str(fault)
        return None


def _read_number(text: str) -> float | None:
    try:
        value = float(text) if len(text) <= LONGEST_NUMBER else math.nan
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def make_compare_view(data: CompareData) -> CompareView:
    other = data.other
    return CompareView(
        heading=make_run_heading(data.run, data.now, "compare"),
        form=data.form,
        scales=tuple((model.value, SCALES[model]) for model in MODELS),
        would_have=tuple(_tell_would_have(data)) if data.spec else (),
        other=None if other is None else make_run_heading(other, data.now),
        rows=() if other is None else tuple(_list_rows(data.run, other)),
        difference="" if other is None else describe_difference(data.run, other),
    )


# Under other bounds.


def _tell_would_have(data: CompareData) -> Iterator[str]:
    spec, results = data.spec, data.run.tally.results
    assert spec is not None
    if not results.pairs:
        yield "There are no results yet."
        return
    llr = spec.log_ratio(results.pentanomial, results.trinomial)
    bounds = f"[{format_decimal(spec.elo0)}, {format_decimal(spec.elo1)}] {SCALES[spec.model]}"
    yield f"Under {bounds} the same results give {format_llr(llr, spec.lower, spec.upper)}."
    yield find_crossing(spec, data.samples)


def find_crossing(spec: Sprt, samples: Sequence[ChartPoint]) -> str:
    """When the test would have ended, as far as the points of the chart tell."""
    for point in samples:
        if not sum(point.pentanomial):
            continue
        llr = spec.log_ratio(point.pentanomial)
        if not spec.lower <= llr <= spec.upper:
            word = "passed" if llr > spec.upper else "failed"
            return f"It would have {word} after about {format_plural(point.games, 'game')}."
    return "It would not have been decided yet."


# Beside another run.


def _list_rows(run: Run, other: Run) -> Iterator[ComparedRow]:
    for name, show in (
        ("Engine", lambda each: each.plan.engine),
        ("Question", describe_question),
        ("Conditions", describe_conditions),
        ("Book", lambda each: each.plan.book),
        ("State", lambda each: label_status(each).word),
        ("Games", lambda each: format_count(each.tally.results.games)),
        ("Elo", _show_elo),
        ("LOS", _show_los),
        ("LLR", _show_llr),
        ("Draws", _show_draws),
        ("Pairs by score", _show_pairs),
    ):
        yield ComparedRow(name, show(run), show(other))


def _show_elo(run: Run) -> str:
    found = estimate_run_elo(run)
    return DASH if found is None else format_elo_interval(found.middle, found.low, found.high)


def _show_los(run: Run) -> str:
    found = estimate_run_elo(run)
    return DASH if found is None else format_percent(found.los)


def _show_llr(run: Run) -> str:
    if not isinstance(run.kind, SprtTest):
        return DASH
    return format_llr(run.kind.state.llr, run.kind.spec.lower, run.kind.spec.upper)


def _show_draws(run: Run) -> str:
    results = run.tally.results
    return f"{results.draws / results.games:.1%}" if results.games else DASH


def _show_pairs(run: Run) -> str:
    results = run.tally.results
    if not results.pairs:
        return DASH
    return ", ".join(f"{number / results.pairs:.1%}" for number in results.pentanomial)


def describe_difference(run: Run, other: Run) -> str:
    """By how much the runs differ. Both Elos are those of their games alone, since a sequential
    test's own is not made to be subtracted."""
    if not (run.tally.results.pairs and other.tally.results.pairs):
        return ""
    one, two = (estimate_fixed_elo(each.tally.results.pentanomial) for each in (run, other))
    gap, width = one.middle - two.middle, math.hypot(one.half_width, two.half_width)
    if not (width > 0 and math.isfinite(gap)):
        return ""
    chance = format_percent(cdf(gap / (width / Z95)))
    return (
        f"The first is ahead by {format_elo(gap, width)} Elo; the chance that it is really ahead is"
        f" {chance}. That compares like with like only where both were played against the same"
        " base under the same conditions."
    )


def routes() -> list[BaseRoute]:
    return [Route("/runs/{run_id}/compare", compare_page, methods=["GET"])]
