"""How a run would have ended under other bounds, and its comparison with another run."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from msgspec import Struct
from starlette.datastructures import QueryParams

from rookery.core.clock import Clock
from rookery.core.model.actor import Actor
from rookery.core.model.run import Run
from rookery.core.stats.numbers import Z95, StatisticsFault, cdf
from rookery.core.stats.sprt import EloModel, Sprt
from rookery.server.engines.privacy import Privacy, name_of
from rookery.server.engines.visible_runs import VisibleRuns
from rookery.server.farm.read_values import FinishedRunsQuery
from rookery.server.farm.reads import FleetReads
from rookery.server.farm.rules.answers import ChartPoint
from rookery.server.farm.views import FleetViews
from rookery.server.http.error_table import REFUSALS
from rookery.server.http.form import NUMBER, DeclaredForm, Input, ShownForm, declare
from rookery.server.http.pages.figures import Curve, CurvePoint, Figure, FigureAxes, draw_figure
from rookery.server.http.pages.formatting import format_count, format_decimal
from rookery.server.http.pages.pages import Page, Pages
from rookery.server.http.signatures import Parts
from rookery.server.show.kinds.kind_page import WIDEST
from rookery.server.show.rights import plays_engine
from rookery.server.show.run_parts import SCALES
from rookery.server.show.statistics import (
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


FIELDS = ("with", "elo0", "elo1", "model")
SCALE_CHOICES = tuple((model.value, SCALES[model]) for model in MODELS)


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
class Comparison:
    """What is compared: frozen values only, because a thread does it."""

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


pages = Pages()
routes = pages.make_routes


@dataclass(frozen=True, slots=True)
class RelatedRuns(Parts):
    """Finds runs to compare with."""

    privacy: Privacy
    reads: FleetReads
    views: FleetViews
    visible: VisibleRuns

    async def find(self, run: Run, viewer: Actor | None) -> tuple[Run, ...]:
        """Runs of the same branch by the same person, or of the same new side, newest first."""
        hidden = self.privacy.hidden(name_of(viewer))
        wanted = FinishedRunsQuery(
            page_size=LOOKED_THROUGH,
            owner=run.plan.owner,
            engine=run.plan.engine,
            text=run.plan.new.tag,
            hidden=hidden,
        )
        at_play = [each for each in await self.views.active() if not plays_engine(each, hidden)]
        found = (*reversed(at_play), *await self.reads.finished(wanted))
        related = [each for each in found if each.id != run.id and is_related(run, each)]
        return tuple(self.privacy.visible_part(viewer, each) for each in related[:MOST_PROPOSED])

    async def find_other(
        self, text: str, viewer: Actor | None, errors: dict[str, str]
    ) -> Run | None:
        """The run whose id or address was typed."""
        try:
            return await self.visible.find_part(read_run_id(text), viewer) if text else None
        except REFUSALS:
            errors["with"] = "There is no such test."
            return None


@pages("GET /runs/{run_id}/compare", "loads on the loop, computed and rendered in a thread")
async def compare_page(
    run_id: str, viewer: Actor | None, related: RelatedRuns, clock: Clock, query: QueryParams
) -> Page:
    """What other bounds would have told, and the comparison with another run."""
    run, reads = await related.visible.find_part(run_id, viewer), related.reads
    texts = {name: query.get(name, "").strip()[:LONGEST_ADDRESS] for name in FIELDS}
    errors: dict[str, str] = {}
    other = await related.find_other(texts["with"], viewer, errors)
    spec = read_bounds(run, texts, errors)
    comparison = Comparison(
        run=run,
        now=clock.now(),
        form=FORM.show(texts, errors),
        samples=await reads.samples(run.id) if spec or other else (),
        spec=spec,
        other=other,
        other_samples=await reads.samples(other.id) if other else (),
        proposed=await related.find(run, viewer),
    )
    return Page("run_compare.html", comparison, make=show_comparison)


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


def show_comparison(asked: Comparison) -> Mapping[str, object]:
    """The values of the page. It computes statistics, so call it in a thread."""
    run, other, spec, results = asked.run, asked.other, asked.spec, asked.run.tally.results
    shown = {
        "run": run,
        "now": asked.now,
        "form": asked.form,
        "scales": SCALE_CHOICES,
        "proposed": asked.proposed,
        "spec": spec,
        "other": other,
    }
    if spec is not None and results.pairs:
        shown["llr"] = spec.log_ratio(results.pentanomial, results.trinomial)
        shown["crossing"] = find_crossing(spec, _list_points(asked.samples, run, asked.now))
    if other is not None:
        shown["figure"] = _draw_both(asked, other)
        shown["elo"] = estimate_run_elo(run), estimate_run_elo(other)
        shown["difference"] = find_difference(run, other)
    return shown


def _list_points(samples: tuple[ChartPoint, ...], run: Run, now: datetime) -> Sequence[ChartPoint]:
    return leave_out_purged(add_present(samples, run, now), run)


def find_crossing(spec: Sprt, samples: Sequence[ChartPoint]) -> tuple[bool, int] | None:
    """Whether the test would have passed, and after how many games, according to the points of the
    chart; None if it would not have been decided yet."""
    for point in samples:
        if not sum(point.pentanomial):
            continue
        llr = spec.log_ratio(point.pentanomial)
        if not spec.lower <= llr <= spec.upper:
            return llr > spec.upper, point.games
    return None


def _draw_both(asked: Comparison, other: Run) -> Figure | None:
    """The Elo of both runs over games. It is the plain Elo of the games, which is comparable
    whatever the bounds were."""
    ours = list_elo(_list_points(asked.samples, asked.run, asked.now))
    theirs = list_elo(_list_points(asked.other_samples, other, asked.now))
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


def find_difference(run: Run, other: Run) -> tuple[float, float, float] | None:
    """The difference between the runs' plain Elos, its error, and the chance that the first is
    ahead. The bias-corrected Elo of a sequential test is not suited to subtraction."""
    if not (run.tally.results.pairs and other.tally.results.pairs):
        return None
    one, two = (estimate_fixed_elo(each.tally.results.pentanomial) for each in (run, other))
    gap, width = one.middle - two.middle, math.hypot(one.half_width, two.half_width)
    if not (width > 0 and math.isfinite(gap)):
        return None
    return gap, width, cdf(gap / (width / Z95))
