"""The page of a run, and the part of it that moves."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from starlette.requests import Request
from starlette.responses import Response

from rookery.boundary.domains import Domain, runs
from rookery.farm.ports import Contribution
from rookery.farm.privacy import name_of
from rookery.farm.views import NO_SPEED, RunSpeed
from rookery.model.events import Event
from rookery.model.kinds import SprtTest, SpsaTuning
from rookery.model.run import Run
from rookery.model.task import Task
from rookery.pages import figures, words
from rookery.pages import words as terms
from rookery.pages.charts import Chart, PentanomialBars, charts_of, pentanomial
from rookery.pages.page import (
    Rights,
    find_run_for,
    plays_engine,
    redirect_to,
    render_fragment,
    render_page_in_thread,
    rights_of,
    viewer_of,
)
from rookery.pages.row import Known, RunRow, row_of, shows_pairs
from rookery.pages.run_tables import (
    Group,
    Happening,
    MachineLine,
    ParameterRow,
    TaskRow,
    groups_of,
    happenings_of,
    machine_of,
    parameters_of,
    task_row,
)
from rookery.pages.words import Moment, Term
from rookery.protocol.actions import Compare, Order
from rookery.rules.answers import ChartPoint
from rookery.rules.diagnosis import AHEAD, RunDiagnosis, RunFinding
from rookery.rules.lifecycle import Actor
from rookery.rules.purge import BadTask
from rookery.web.answers import site_of
from rookery.web.site import Site

# The page of one run: its first screen, and below it everything else.

MOST_MACHINES = 50
EARLY_STOP = (
    "A group's Elo is taken from its games alone; the test's own, above, also allows for stopping"
    " at a lucky moment."
)
MOVING = frozenset({RunFinding.RUNNING, RunFinding.FINISHED})


@dataclass(frozen=True, slots=True)
class RunMaterial:
    """All that was loaded of a run; frozen values alone, because a thread makes the page."""

    run: Run
    now: datetime
    viewer: Actor | None = None
    pulse: RunSpeed = NO_SPEED
    samples: tuple[ChartPoint, ...] = ()
    playing: tuple[Task, ...] = ()
    diagnosis: RunDiagnosis | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    """Of other runs that this person may know of, by their ids."""
    contributions: tuple[Contribution, ...] = ()
    apart: tuple[BadTask, ...] = ()
    tasks: tuple[Task, ...] = ()
    actions: tuple[Event, ...] = ()


@dataclass(frozen=True, slots=True)
class RunView:
    """`reason` says why it is idle, where it is."""

    row: RunRow
    sentence: str
    reason: str
    evidence: tuple[Term, ...]
    outcome: str
    took: str
    los: str
    chance: str
    results: str
    iterations: str
    pairs: PentanomialBars | None
    charts: tuple[Chart, ...]
    machines: tuple[MachineLine, ...]
    more_machines: str
    parameters: tuple[ParameterRow, ...]
    groups: tuple[Group, ...]
    groups_note: str
    apart: tuple[TaskRow, ...]
    tasks: tuple[TaskRow, ...]
    happenings: tuple[Happening, ...]
    terms: tuple[Term, ...]
    rights: Rights
    run: Run
    created: Moment
    updated: Moment


def run_view(material: RunMaterial) -> RunView:
    """Costs statistics: called in a thread."""
    run, now = material.run, material.now
    found, ahead, over = figures.elo_of(run), figures.ahead_of(run), run.status.finished
    playing = sorted(material.playing, key=lambda task: (-task.machine.cores, task.id))
    return RunView(
        row=row_of(Known(run, _hour_ago(material), _pulse(material)), now),
        sentence=terms.sentence(run),
        reason=_reason(material.diagnosis),
        evidence=_evidence(material.diagnosis, material.names),
        outcome=_outcome(run),
        took=words.span((run.updated - run.created).total_seconds()) if over else "",
        los=words.NOTHING if found is None else words.percent(found.los),
        chance="" if ahead is None or ahead.chance is None else words.percent(ahead.chance),
        results=_results(run),
        iterations=_iterations(run),
        pairs=pentanomial(run.tally.results.pentanomial) if shows_pairs(run) else None,
        charts=charts_of(run, _with_present(material)),
        machines=tuple(machine_of(task, now) for task in playing[:MOST_MACHINES]),
        more_machines=_more(len(playing) - MOST_MACHINES),
        parameters=parameters_of(run),
        groups=groups_of(run.kind, material.contributions),
        groups_note=EARLY_STOP if isinstance(run.kind, SprtTest) else "",
        apart=tuple(task_row(each.task, now) for each in material.apart),
        tasks=tuple(task_row(task, now) for task in material.tasks),
        happenings=tuple(happenings_of(material.actions, now)),
        terms=terms.terms_of(run),
        rights=rights_of(material.viewer, run),
        run=run,
        created=words.ago(run.created, now),
        updated=words.ago(run.updated, now),
    )


def _pulse(material: RunMaterial) -> RunSpeed:
    known = material.pulse is not NO_SPEED
    return material.pulse if known else figures.pulse_of(material.run, material.playing)


def _hour_ago(material: RunMaterial) -> ChartPoint | None:
    """The point that rates and movements are measured from."""
    before = [one for one in material.samples if one.at <= material.now - figures.WINDOW]
    if before:
        return before[-1]
    return material.samples[0] if material.samples else None


def _with_present(material: RunMaterial) -> tuple[ChartPoint, ...]:
    """Points are taken now and then; the last one of a chart is always where the run is."""
    run, results = material.run, material.run.tally.results
    if material.samples and material.samples[-1].games >= results.games:
        return material.samples
    llr = run.kind.state.llr if isinstance(run.kind, SprtTest) else 0.0
    present = ChartPoint(
        run.id, material.now, results.games, results.pentanomial, llr, run.tally.cores
    )
    return (*material.samples, present)


def _reason(diagnosis: RunDiagnosis | None) -> str:
    if diagnosis is None or diagnosis.finding in MOVING:
        return ""
    text = diagnosis.sentence
    return f"{text[:1].upper()}{text[1:]}."


def _evidence(diagnosis: RunDiagnosis | None, names: Mapping[str, str]) -> tuple[Term, ...]:
    if diagnosis is None or diagnosis.finding in MOVING:
        return ()
    return tuple(Term(_named(name, names), text) for name, text in diagnosis.evidence)


def _named(figure: str, names: Mapping[str, str]) -> str:
    """Runs that stand in the way are told by their names, and private ones not at all."""
    if not figure.startswith(AHEAD):
        return figure
    return AHEAD + names.get(figure.removeprefix(AHEAD), "another run")


def _outcome(run: Run) -> str:
    """After how many games it ended."""
    if not run.status.finished:
        return ""
    games = words.several(run.tally.results.games, "game")
    return f"after {games}"


def _results(run: Run) -> str:
    results = run.tally.results
    counts = (results.wins, results.losses, results.draws)
    won, lost, drawn = map(words.count, counts)
    return f"{won} won, {lost} lost, {drawn} drawn"


def _iterations(run: Run) -> str:
    if not isinstance(run.kind, SpsaTuning):
        return ""
    tune = run.kind.tune
    return f"{words.count(tune.iteration)} of {words.count(tune.schedule.iterations)} iterations"


def _more(number: int) -> str:
    return f"and {words.several(number, 'more machine')}" if number > 0 else ""


MOST_TASKS = 20
MOST_GROUPS = 50
MOST_ACTIONS = 20
REMEMBERED_SECONDS = 10.0


@runs(Domain.THREAD, "loads on the loop, computed and rendered in a thread")
async def run_page(request: Request) -> Response:
    site, viewer = site_of(request), await viewer_of(request)
    material = await _material(site, await find_run_for(viewer, request), viewer)
    whole = await _with_history(site, material)
    return await render_page_in_thread(request, "run.html", run_view, whole)


@runs(Domain.THREAD, "loads on the loop, computed and rendered in a thread")
async def run_live(request: Request) -> Response:
    """What moves on the page of a run, for its script."""
    site, viewer = site_of(request), await viewer_of(request)
    material = await _material(site, await find_run_for(viewer, request), viewer)
    return await render_fragment(request, "run_live.html", run_view, material)


@runs(Domain.LOOP, "names another address")
async def old_address(request: Request) -> Response:
    """Where the official server has the page of a run; workers print this address."""
    return redirect_to(f"/runs/{request.path_params['run_id']}")


async def _material(site: Site, run: Run, viewer: Actor | None) -> RunMaterial:
    """What moves: one query for the points; the rest is in memory."""
    return RunMaterial(
        run=run,
        now=site.clock.now(),
        viewer=viewer,
        pulse=site.fleet.activity.speed(run.id),
        samples=await site.reads.samples(run.id),
        playing=await site.fleet.views.tasks_at_play(run.id),
        diagnosis=None if run.status.finished else await site.fleet.views.diagnosis(run.id),
        names={} if run.status.finished else await _names(site, viewer),
    )


async def _contributions(site: Site, run_id: str) -> tuple[Contribution, ...]:
    """A run may have a hundred thousand tasks, and many may look at it at once."""
    found = site.contributions.get(run_id)
    if found is None:
        found = await site.reads.contributions(run_id, MOST_GROUPS)
        site.contributions.put(run_id, found, REMEMBERED_SECONDS)
    return found


async def _names(site: Site, viewer: Actor | None) -> dict[str, str]:
    """Of the unfinished runs that this person may know of."""
    hidden = site.privacy.hidden(name_of(viewer))
    shown = (run for run in await site.fleet.views.active() if not plays_engine(run, hidden))
    return {run.id: run.plan.sides[0].tag for run in shown}


async def _with_history(site: Site, material: RunMaterial) -> RunMaterial:
    """What only the whole page shows: four queries."""
    reads, run_id = site.reads, material.run.id
    first = max(0, material.run.tally.tasks - MOST_TASKS)
    return replace(
        material,
        contributions=await _contributions(site, run_id),
        apart=await reads.tasks_apart(run_id, MOST_TASKS),
        tasks=tuple(reversed(await reads.task_page(run_id, first, MOST_TASKS))),
        actions=await reads.actions(Compare("run_id", Order.EQUAL, run_id), limit=MOST_ACTIONS),
    )
