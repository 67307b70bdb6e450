"""The page of a run, and the part of it that moves."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from rookery.boundary.domains import Domain, runs
from rookery.farm.privacy import name_of
from rookery.farm.read_values import Contribution
from rookery.farm.views import NO_SPEED, RunSpeed
from rookery.model.events import Event
from rookery.model.kinds import SprtTest, SpsaTuning
from rookery.model.run import Run
from rookery.model.task import Task
from rookery.pages.charts import Chart, draw_charts
from rookery.pages.formatting import (
    DASH,
    Moment,
    format_ago,
    format_count,
    format_duration,
    format_percent,
    format_plural,
)
from rookery.pages.live import answer_live_run
from rookery.pages.page import (
    Rights,
    find_run_for,
    list_rights,
    plays_engine,
    redirect_to,
    render_page_in_thread,
    viewer_of,
)
from rookery.pages.review import load_hints
from rookery.pages.run_contributions import ContributionTable, make_contribution_tables
from rookery.pages.run_description import NamedValue, describe_run, list_settings
from rookery.pages.run_heading import RunHeading, RunStage, describe_stage, make_run_heading
from rookery.pages.run_row import ListedRun, RunRow, make_run_row
from rookery.pages.run_statistics import WINDOW, estimate_run_elo, estimate_speed, forecast_run
from rookery.pages.run_tables import (
    LogRow,
    MachineRow,
    ParameterRow,
    TaskRow,
    make_log_rows,
    make_machine_row,
    make_parameter_rows,
    make_task_row,
)
from rookery.pages.run_texts import (
    CopiedText,
    describe_preview,
    list_downloads,
    list_next_steps,
    list_texts,
)
from rookery.protocol.actions import Compare, Order
from rookery.rules.answers import ChartPoint
from rookery.rules.diagnosis import AHEAD, RunDiagnosis, RunFinding
from rookery.rules.lifecycle import Actor
from rookery.rules.purge import BadTask
from rookery.rules.review import Hint
from rookery.web.answers import site_of
from rookery.web.site import Site

# The page of one run: its first screen, and below it everything else.

MOST_MACHINES = 50
EARLY_STOP = (
    "A group's Elo is taken from its games alone; the test's own, above, also allows for stopping"
    " at a lucky moment."
)
MOVING = frozenset({RunFinding.RUNNING, RunFinding.FINISHED, RunFinding.STARTING})


@dataclass(frozen=True, slots=True)
class RunPageData:
    """What the page of a run is made from. Frozen values only, because a thread makes the page."""

    run: Run
    now: datetime
    viewer: Actor | None = None
    speed: RunSpeed = NO_SPEED
    samples: tuple[ChartPoint, ...] = ()
    playing: tuple[Task, ...] = ()
    diagnosis: RunDiagnosis | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    """Of other runs that this person may know of, by their ids."""
    contributions: tuple[Contribution, ...] = ()
    apart: tuple[BadTask, ...] = ()
    tasks: tuple[Task, ...] = ()
    actions: tuple[Event, ...] = ()
    following: bool = False
    hints: tuple[Hint, ...] = ()
    """What an approver should know, for the run's people."""
    private: bool = False


@dataclass(frozen=True, slots=True)
class RunView:
    """The page of a run; `preview` is for links to it and empty where nobody may see one."""

    heading: RunHeading
    row: RunRow
    stage: RunStage
    sentence: str
    evidence: tuple[NamedValue, ...]
    outcome: str
    took: str
    los: str
    chance: str
    results: str
    iterations: str
    ends: str
    """The Elo and the ends of its interval as plain numbers, for the script of the charts."""
    share: str
    """Of all its games, in hundredths, for a run without bounds."""
    charts: tuple[Chart, ...]
    machines: tuple[MachineRow, ...]
    more_machines: str
    parameters: tuple[ParameterRow, ...]
    contributions: tuple[ContributionTable, ...]
    contributions_note: str
    apart: tuple[TaskRow, ...]
    tasks: tuple[TaskRow, ...]
    log: tuple[LogRow, ...]
    settings: tuple[NamedValue, ...]
    rights: Rights
    run: Run
    updated: Moment
    following: bool
    texts: tuple[CopiedText, ...]
    next_steps: tuple[tuple[str, str], ...]
    downloads: tuple[tuple[str, str], ...]
    hints: tuple[Hint, ...]
    preview: str
    built: bool
    """Whether both sides are built from sources, and from different ones."""


def make_run_view(data: RunPageData) -> RunView:
    """The view of a run's page; it computes statistics, so it is called in a thread."""
    run, now = data.run, data.now
    found, ahead, over = estimate_run_elo(run), forecast_run(run), run.status.finished
    playing = sorted(data.playing, key=lambda task: (-task.machine.cores, task.id))
    heading = make_run_heading(run, now)
    row = make_run_row(ListedRun(run, _find_point_hour_ago(data), _find_speed(data)), now)
    return RunView(
        heading=heading,
        row=row,
        stage=describe_stage(run, data.diagnosis, data.playing, now),
        sentence=describe_run(run),
        evidence=_list_evidence(data.diagnosis, data.names),
        outcome=_describe_outcome(run),
        took=format_duration((run.updated - run.created).total_seconds()) if over else "",
        los=DASH if found is None else format_percent(found.los),
        chance="" if ahead is None or ahead.chance is None else format_percent(ahead.chance),
        results=_describe_results(run),
        iterations=_describe_iterations(run),
        ends="" if found is None else f"{found.middle:.3f} {found.low:.3f} {found.high:.3f}",
        share=f"{min(1.0, run.tally.results.games / max(1, run.plan.games)):.1%}".rstrip("%"),
        charts=draw_charts(run, _add_present(data), found),
        machines=tuple(make_machine_row(task, now) for task in playing[:MOST_MACHINES]),
        more_machines=_count_more(len(playing) - MOST_MACHINES),
        parameters=make_parameter_rows(run),
        contributions=make_contribution_tables(run.kind, data.contributions),
        contributions_note=EARLY_STOP if isinstance(run.kind, SprtTest) else "",
        apart=tuple(make_task_row(each.task, now) for each in data.apart),
        tasks=tuple(make_task_row(task, now) for task in data.tasks),
        log=tuple(make_log_rows(data.actions, now)),
        settings=list_settings(run),
        rights=list_rights(data.viewer, run),
        run=run,
        updated=format_ago(run.updated, now),
        following=data.following,
        texts=list_texts(run),
        next_steps=list_next_steps(run),
        downloads=list_downloads(run),
        hints=data.hints,
        built=_has_change(run),
        preview="" if data.private else describe_preview(heading, row.status, row.elo),
    )


def _has_change(run: Run) -> bool:
    new, base = run.plan.sides[:2]
    if isinstance(run.kind, SpsaTuning) or new.binary or base.binary:
        return False
    return new.commit != base.commit and bool(new.repository and base.repository)


def _find_speed(data: RunPageData) -> RunSpeed:
    known = data.speed is not NO_SPEED
    return data.speed if known else estimate_speed(data.run, data.playing)


def _find_point_hour_ago(data: RunPageData) -> ChartPoint | None:
    """The point that rates and movements are measured from."""
    before = [one for one in data.samples if one.at <= data.now - WINDOW]
    if before:
        return before[-1]
    return data.samples[0] if data.samples else None


def _add_present(data: RunPageData) -> tuple[ChartPoint, ...]:
    """Points are taken now and then; the last one of a chart is always where the run is."""
    run, results = data.run, data.run.tally.results
    if data.samples and data.samples[-1].games >= results.games:
        return data.samples
    llr = run.kind.state.llr if isinstance(run.kind, SprtTest) else 0.0
    present = ChartPoint(run.id, data.now, results.games, results.pentanomial, llr, run.tally.cores)
    return (*data.samples, present)


def _list_evidence(
    diagnosis: RunDiagnosis | None, names: Mapping[str, str]
) -> tuple[NamedValue, ...]:
    if diagnosis is None or diagnosis.finding in MOVING:
        return ()
    return tuple(NamedValue(_name_figure(name, names), text) for name, text in diagnosis.evidence)


def _name_figure(figure: str, names: Mapping[str, str]) -> str:
    """Runs that stand in the way are told by their names, and private ones not at all."""
    if not figure.startswith(AHEAD):
        return figure
    return AHEAD + names.get(figure.removeprefix(AHEAD), "another run")


def _describe_outcome(run: Run) -> str:
    """After how many games it ended."""
    if not run.status.finished:
        return ""
    games = format_plural(run.tally.results.games, "game")
    return f"after {games}"


def _describe_results(run: Run) -> str:
    results = run.tally.results
    counts = (results.wins, results.losses, results.draws)
    won, lost, drawn = map(format_count, counts)
    return f"{won} won, {lost} lost, {drawn} drawn"


def _describe_iterations(run: Run) -> str:
    if not isinstance(run.kind, SpsaTuning):
        return ""
    tune = run.kind.tune
    return f"{format_count(tune.iteration)} of {format_count(tune.schedule.iterations)} iterations"


def _count_more(number: int) -> str:
    return f"and {format_plural(number, 'more machine')}" if number > 0 else ""


MOST_TASKS = 20
MOST_GROUPS = 50
MOST_ACTIONS = 20
REMEMBERED_SECONDS = 10.0


@runs(Domain.THREAD, "loads on the loop, computed and rendered in a thread")
async def run_page(request: Request) -> Response:
    site, viewer = site_of(request), await viewer_of(request)
    data = await _load_moving(site, await find_run_for(viewer, request), viewer)
    whole = await _load_history(site, data)
    return await render_page_in_thread(request, "run.html", make_run_view, whole)


@runs(Domain.THREAD, "loads on the loop, computed and rendered in a thread")
async def run_live(request: Request) -> Response:
    """What moves on the page of a run, for its script."""

    async def load(run: Run, viewer: Actor | None) -> RunPageData:
        return await _load_moving(site_of(request), run, viewer)

    return await answer_live_run(request, "run_live.html", make_run_view, load)


@runs(Domain.THREAD, "awaits one query; the lines are written in a thread")
async def samples_csv(request: Request) -> Response:
    """The points of the charts, for a spreadsheet."""
    site, viewer = site_of(request), await viewer_of(request)
    run = await find_run_for(viewer, request)
    found = await site.reads.samples(run.id)
    text = await site.threads.cpu(write_csv, found)
    headers = {"content-disposition": f'attachment; filename="{run.id}.csv"'}
    return PlainTextResponse(text, headers=headers, media_type="text/csv")


def write_csv(samples: Sequence[ChartPoint]) -> str:
    """A line for each point; numbers only, so that no spreadsheet takes one for a formula."""
    lines = ["time,games,p0,p1,p2,p3,p4,llr,cores"]
    for one in samples:
        pairs = ",".join(map(str, one.pentanomial))
        lines.append(f"{one.at.isoformat()},{one.games},{pairs},{one.llr:.4f},{one.cores}")
    return "\n".join(lines) + "\n"


@runs(Domain.LOOP, "names another address")
async def old_address(request: Request) -> Response:
    """Where the official server has the page of a run; workers print this address."""
    return redirect_to(f"/runs/{request.path_params['run_id']}")


async def _load_moving(site: Site, run: Run, viewer: Actor | None) -> RunPageData:
    """What moves: one query for the points; the rest is in memory."""
    return RunPageData(
        run=run,
        now=site.clock.now(),
        viewer=viewer,
        speed=site.fleet.activity.speed(run.id),
        samples=await site.reads.samples(run.id),
        playing=await site.fleet.views.tasks_at_play((run.id,)),
        diagnosis=None if run.status.finished else await site.fleet.views.diagnosis(run.id),
        names={} if run.status.finished else await _load_names(site, viewer),
    )


async def _load_contributions(site: Site, run_id: str) -> tuple[Contribution, ...]:
    """A run may have a hundred thousand tasks, and many may look at it at once."""
    found = site.contributions.get(run_id)
    if found is None:
        found = await site.reads.contributions(run_id, MOST_GROUPS)
        site.contributions.put(run_id, found, REMEMBERED_SECONDS)
    return found


async def _load_names(site: Site, viewer: Actor | None) -> dict[str, str]:
    """Of the unfinished runs that this person may know of."""
    hidden = site.privacy.hidden(name_of(viewer))
    shown = (run for run in await site.fleet.views.active() if not plays_engine(run, hidden))
    return {run.id: run.plan.sides[0].tag for run in shown}


async def _load_history(site: Site, data: RunPageData) -> RunPageData:
    """What only the whole page shows: four queries, and one for who is logged in."""
    reads, run_id, viewer = site.reads, data.run.id, data.viewer
    first = max(0, data.run.tally.tasks - MOST_TASKS)
    return replace(
        data,
        contributions=await _load_contributions(site, run_id),
        apart=await reads.tasks_apart(run_id, MOST_TASKS),
        tasks=tuple(reversed(await reads.task_page(run_id, first, MOST_TASKS))),
        actions=await reads.actions(Compare("run_id", Order.EQUAL, run_id), limit=MOST_ACTIONS),
        following=viewer is not None and await site.subscriptions.follows(run_id, viewer.name),
        hints=await _load_hints(site, data),
        private=site.privacy.is_private(data.run) or not data.run.status.approved,
    )


async def _load_hints(site: Site, data: RunPageData) -> tuple[Hint, ...]:
    """Once a run is approved, nobody has to be told."""
    if data.run.status.approved or data.run.status.finished:
        return ()
    found = await load_hints(site, data.viewer, [data.run])
    return found.get(data.run.id, ())
