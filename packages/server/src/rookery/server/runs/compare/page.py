"""How a run would have ended under other bounds, and its comparison with another run."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rookery.core.model.run import Run
from rookery.core.stats.numbers import Z95, StatisticsFault, cdf
from rookery.core.stats.sprt import EloModel, Sprt
from rookery.server.app.site import Site
from rookery.server.boundary.domains import Domain, runs
from rookery.server.engines.privacy import name_of
from rookery.server.farm.read_values import FinishedRunsQuery
from rookery.server.farm.rules.answers import ChartPoint
from rookery.server.farm.rules.lifecycle import Actor
from rookery.server.farm.show.kinds import page_of
from rookery.server.farm.show.kinds.kind_page import WIDEST
from rookery.server.farm.show.run_description import describe_conditions, describe_question
from rookery.server.farm.show.run_parts import SCALES
from rookery.server.farm.show.run_row import label_status
from rookery.server.http.answers import site_of
from rookery.server.http.error_table import REFUSALS
from rookery.server.http.form import NUMBER, DeclaredForm, Input, ShownForm, declare
from rookery.server.http.pages.figures import Curve, CurvePoint, Figure, FigureAxes, draw_figure
from rookery.server.http.pages.formatting import (
    DASH,
    format_count,
    format_decimal,
    format_elo,
    format_elo_interval,
    format_llr,
    format_percent,
    format_plural,
)
from rookery.server.http.pages.page import (
    find_run_for,
    plays_engine,
    render_page_in_thread,
    viewer_of,
)
from rookery.server.runs.run.heading import RunHeading, make_run_heading
from rookery.server.runs.run.statistics import (
    add_present,
    estimate_fixed_elo,
    estimate_run_elo,
    leave_out_purged,
)

RUN_ID = re.compile(r"[0-9a-f]{24}", re.ASCII)
LONGEST_ADDRESS = 300
LOOKED_THROUGH, MOST_PROPOSED = 50, 8
"""How many runs are examined for proposals, and how many are proposed."""
MOST_POINTS = 80
"""The most points of a curve."""
MODELS = (EloModel.NORMALISED, EloModel.LOGISTIC)


class TypedBounds(Struct, frozen=True):
    """Other bounds for a finished test."""

    elo0: float
    elo1: float


FORM = DeclaredForm(
    declare(
        Input("elo0", "H0", NUMBER, expected="Enter a number.", more={"maxlength": 12}),
        Input("elo1", "H1", NUMBER, expected="Enter a number.", more={"maxlength": 12}),
        Input(
            "with",
            "Id or address of the other test",
            style="wide-field",
            more={"maxlength": LONGEST_ADDRESS},
        ),
    )
)


@dataclass(frozen=True, slots=True)
class CompareData:
    run: Run
    now: datetime
    form: ShownForm
    samples: tuple[ChartPoint, ...] = ()
    spec: Sprt | None = None
    """The other bounds, if some were asked for."""
    other: Run | None = None
    other_samples: tuple[ChartPoint, ...] = ()
    proposed: tuple[Run, ...] = ()
    """Runs that may be worth comparing with."""


@dataclass(frozen=True, slots=True)
class ComparedRow:
    name: str
    ours: str
    theirs: str


@dataclass(frozen=True, slots=True)
class ProposedRun:
    """A run to compare with: the address of the comparison, and the run's name."""

    address: str
    name: str
    words: str


@dataclass(frozen=True, slots=True)
class CompareView:
    heading: RunHeading
    form: ShownForm
    scales: tuple[tuple[str, str], ...]
    would_have: tuple[str, ...]
    proposed: tuple[ProposedRun, ...]
    other: RunHeading | None
    figure: Figure | None
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
            other = await site.visible_runs.find_part(read_run_id(texts["with"]), viewer)
        except REFUSALS:
            errors["with"] = "There is no such test."
    spec = read_bounds(run, texts, errors)
    data = CompareData(
        run=run,
        now=site.clock.now(),
        form=FORM.show(texts, errors),
        samples=await site.reads.samples(run.id) if spec or other else (),
        spec=spec,
        other=other,
        other_samples=await site.reads.samples(other.id) if other else (),
        proposed=await _find_related(site, run, viewer),
    )
    return await render_page_in_thread(request, "run_compare.html", make_compare_view, data)


async def _find_related(site: Site, run: Run, viewer: Actor | None) -> tuple[Run, ...]:
    """Runs of the same branch by the same person, or of the same new side, newest first."""
    hidden = site.privacy.hidden(name_of(viewer))
    wanted = FinishedRunsQuery(
        page_size=LOOKED_THROUGH,
        owner=run.plan.owner,
        engine=run.plan.engine,
        text=run.plan.new.tag,
        hidden=hidden,
    )
    at_play = [each for each in await site.fleet.views.active() if not plays_engine(each, hidden)]
    found = (*reversed(at_play), *await site.reads.finished(wanted))
    related = [each for each in found if each.id != run.id and is_related(run, each)]
    return tuple(site.privacy.visible_part(viewer, each) for each in related[:MOST_PROPOSED])


def is_related(run: Run, other: Run) -> bool:
    """Whether two runs test the same branch of a person or the same commit of an engine."""
    ours, theirs = run.plan.new, other.plan.new
    same_branch = (run.plan.owner, ours.tag) == (other.plan.owner, theirs.tag)
    same_commit = bool(ours.commit.strip("0")) and ours.commit == theirs.commit
    return ours.engine == theirs.engine and (same_branch or same_commit)


def read_run_id(text: str) -> str:
    """The run id in a pasted text: an id, or an address that contains one."""
    found = RUN_ID.search(text)
    return found[0] if found else text


def read_bounds(run: Run, texts: Mapping[str, str], errors: dict[str, str]) -> Sprt | None:
    """The typed bounds; None if none were typed or something is wrong with them."""
    if not (texts["elo0"] or texts["elo1"]):
        return None
    read = FORM.read(TypedBounds, texts)
    errors |= read.errors
    if read.value is None:
        return None
    own = run.kind.hypotheses or Sprt(0.0, 2.0)
    model = next((each for each in MODELS if each.value == texts["model"]), MODELS[0])
    try:
        return Sprt(read.value.elo0, read.value.elo1, model, own.alpha, own.beta)
    except StatisticsFault as fault:
        errors["elo1"] = str(fault)
        return None


def make_compare_view(data: CompareData) -> CompareView:
    other = data.other
    return CompareView(
        heading=make_run_heading(data.run, data.now, "compare"),
        form=data.form,
        scales=tuple((model.value, SCALES[model]) for model in MODELS),
        would_have=tuple(_tell_would_have(data)) if data.spec else (),
        proposed=tuple(_propose(data.run, each) for each in data.proposed),
        other=None if other is None else make_run_heading(other, data.now),
        figure=None if other is None else _draw_both(data, other),
        rows=() if other is None else tuple(_list_rows(data.run, other)),
        difference="" if other is None else describe_difference(data.run, other),
    )


def _propose(run: Run, other: Run) -> ProposedRun:
    state, games = label_status(other).word, other.tally.results.games
    if games:
        state = f"{state} after {format_plural(games, 'game')}"
    return ProposedRun(
        address=f"/runs/{run.id}/compare?with={other.id}",
        name=other.plan.new.tag,
        words=f"{describe_question(other)}, {describe_conditions(other)}, {state}",
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
    yield find_crossing(spec, _list_points(data.samples, data.run, data.now))


def _list_points(samples: tuple[ChartPoint, ...], run: Run, now: datetime) -> Sequence[ChartPoint]:
    return leave_out_purged(add_present(samples, run, now), run)


def find_crossing(spec: Sprt, samples: Sequence[ChartPoint]) -> str:
    """When the test would have ended, according to the points of the chart."""
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
    bar = page_of(run.kind).draw_bar(None)
    return DASH if bar is None else bar.text


def _show_draws(run: Run) -> str:
    results = run.tally.results
    return f"{results.draws / results.games:.1%}" if results.games else DASH


def _show_pairs(run: Run) -> str:
    results = run.tally.results
    if not results.pairs:
        return DASH
    return ", ".join(f"{number / results.pairs:.1%}" for number in results.pentanomial)


def _draw_both(data: CompareData, other: Run) -> Figure | None:
    """The Elo of both runs over games. It is the plain Elo of the games, which is comparable
    whatever the bounds were."""
    ours = list_elo(_list_points(data.samples, data.run, data.now))
    theirs = list_elo(_list_points(data.other_samples, other, data.now))
    curves = (Curve("this test", ours), Curve("other test", theirs))
    axes = FigureAxes(format_count, format_decimal, "games")
    return draw_figure("Elo of both", [each for each in curves if each.points], axes)


def list_elo(samples: Sequence[ChartPoint]) -> tuple[CurvePoint, ...]:
    """Elo with its 95 % band, from the point on where the band is not much wider than the last
    one."""
    counted = [each for each in samples if sum(each.pentanomial)]
    if not counted:
        return ()
    step = math.ceil(len(counted) / MOST_POINTS)
    found = [
        (float(each.games), estimate_fixed_elo(each.pentanomial))
        for place, each in enumerate(reversed(counted))
        if place % step == 0
    ]
    widest = WIDEST * found[0][1].half_width
    return tuple(
        CurvePoint(games, elo.middle, elo.low, elo.high)
        for games, elo in reversed(found)
        if elo.half_width <= widest
    )


def describe_difference(run: Run, other: Run) -> str:
    """The difference between the runs' plain Elos. The bias-corrected Elo of a sequential test is
    not suited to subtraction."""
    if not (run.tally.results.pairs and other.tally.results.pairs):
        return ""
    one, two = (estimate_fixed_elo(each.tally.results.pentanomial) for each in (run, other))
    gap, width = one.middle - two.middle, math.hypot(one.half_width, two.half_width)
    if not (width > 0 and math.isfinite(gap)):
        return ""
    chance = format_percent(cdf(gap / (width / Z95)))
    return (
        f"The first is ahead by {format_elo(gap, width)} Elo; the chance that it is really ahead is"
        f" {chance}. This is meaningful only if both were played against the same base"
        " under the same conditions."
    )


def routes() -> list[BaseRoute]:
    return [Route("/runs/{run_id}/compare", compare_page, methods=["GET"])]
