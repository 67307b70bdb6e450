"""The view of a run's page: its first screen, and everything below."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from rookery.core.model.events import Event
from rookery.core.model.kinds import RunForecast
from rookery.core.model.run import Run
from rookery.core.model.task import Task
from rookery.server.farm.read_values import Contribution
from rookery.server.farm.rules.answers import ChartPoint
from rookery.server.farm.rules.diagnosis import AHEAD, RunDiagnosis, RunFinding
from rookery.server.farm.rules.lifecycle import Actor, stage
from rookery.server.farm.rules.purge import BadTask
from rookery.server.farm.rules.review import Hint
from rookery.server.farm.show.charts import Chart
from rookery.server.farm.show.kinds import page_of
from rookery.server.farm.show.run_charts import PresentPace, draw_charts
from rookery.server.farm.show.run_description import describe_run, list_settings
from rookery.server.farm.show.run_parts import CopiedText, NamedValue, ParameterRow
from rookery.server.farm.show.run_row import ListedRun, RunRow, make_run_row
from rookery.server.farm.show.run_tables import (
    LogRow,
    MachineRow,
    TaskRow,
    make_log_rows,
    make_machine_row,
    make_task_row,
)
from rookery.server.farm.show.run_texts import (
    describe_preview,
    list_downloads,
    list_next_steps,
    list_texts,
)
from rookery.server.farm.views import NO_SPEED, RunSpeed
from rookery.server.http.pages.formatting import (
    DASH,
    Moment,
    format_ago,
    format_count,
    format_duration,
    format_percent,
    format_plural,
)
from rookery.server.http.pages.page import Rights, list_rights
from rookery.server.runs.run.changes import ChangeForm, RefusedChange, describe_change
from rookery.server.runs.run.contributions import (
    DIFFERS,
    PURGES,
    ContributionTable,
    make_contribution_tables,
)
from rookery.server.runs.run.heading import RunHeading, RunStage, describe_stage, make_run_heading
from rookery.server.runs.run.statistics import (
    WINDOW,
    ShownElo,
    add_present,
    estimate_run_elo,
    estimate_speed,
    forecast_run,
    measure_games_per_minute,
)

MOST_MACHINES = 12
MOST_ACTIONS = 20
MOVING = frozenset({RunFinding.RUNNING, RunFinding.FINISHED, RunFinding.STARTING})
FIGURE_WORDS = {"machines": "machines here", "eligible": "can play it"}
"""The names of a diagnosis's figures, shown beside its sentence."""


@dataclass(frozen=True, slots=True)
class RunPageData:
    """The data for a run's page: frozen values only, because a thread makes the page."""

    run: Run
    now: datetime
    viewer: Actor | None = None
    speed: RunSpeed = NO_SPEED
    samples: tuple[ChartPoint, ...] = ()
    playing: tuple[Task, ...] = ()
    diagnosis: RunDiagnosis | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    """The names of other runs that this person may see, by id."""
    contributions: tuple[Contribution, ...] = ()
    apart: tuple[BadTask, ...] = ()
    tasks: tuple[Task, ...] = ()
    actions: tuple[Event, ...] = ()
    following: bool = False
    hints: tuple[Hint, ...] = ()
    """Hints for approvers, for the run's people."""
    private: bool = False
    address: str = ""
    """The address of the page, for previews of links."""
    earlier: Run | None = None
    """The run that this one was made from."""
    has_long_preset: bool = False
    refused: RefusedChange | None = None
    """A change by this person that was refused."""


@dataclass(frozen=True, slots=True)
class RunView:
    """The page of a run. `preview` is for links to it; empty if strangers may not see the run."""

    heading: RunHeading
    row: RunRow
    stage: RunStage
    sentence: str
    evidence: tuple[NamedValue, ...]
    outcome: str
    early: str
    """Why the verdict came before the shown ratio reached a bound; empty if it did not."""
    took: str
    los: str
    chance: str
    to_come: str
    """The expected number of further games."""
    results: str
    iterations: str
    ends: str
    """The Elo and the ends of its interval as plain numbers, for the script of the charts."""
    share: str
    """The played share of all games in per cent, for a run without bounds."""
    charts: tuple[Chart, ...]
    machines: tuple[MachineRow, ...]
    more_machines: str
    parameters: tuple[ParameterRow, ...]
    contributions: tuple[ContributionTable, ...]
    contributions_note: str
    apart: tuple[TaskRow, ...]
    tasks: tuple[TaskRow, ...]
    log: tuple[LogRow, ...]
    more_log: bool
    """Whether there are older events."""
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
    """Whether both sides are built from sources that differ."""
    address: str
    change: ChangeForm
    explained: tuple[str, str]
    """Explanations of residuals and of purges."""
    life: str
    """The phase of the run. When it changes, the commands that people may use change too."""


def make_run_view(data: RunPageData) -> RunView:
    """The view. It computes statistics, so call it in a thread."""
    run, now, page = data.run, data.now, page_of(data.run.kind)
    found, ahead, over = estimate_run_elo(run), forecast_run(run), run.status.finished
    playing = sorted(data.playing, key=lambda task: (-task.machine.cores, task.id))
    heading = make_run_heading(run, now, earlier=data.earlier)
    row = make_run_row(ListedRun(run, _find_point_hour_ago(data), _find_speed(data)), now)
    return RunView(
        heading=heading,
        row=row,
        stage=describe_stage(run, data.diagnosis, data.playing, now),
        sentence=describe_run(run),
        evidence=_list_evidence(data.diagnosis, data.names),
        outcome=_describe_outcome(run),
        early=page.verdict_note,
        took=format_duration((run.updated - run.created).total_seconds()) if over else "",
        los=DASH if found is None else format_percent(found.los),
        chance="" if ahead is None or ahead.chance is None else format_percent(ahead.chance),
        to_come="" if ahead is None else _describe_games_left(ahead),
        results=_describe_results(run),
        iterations=page.progress,
        ends="" if found is None else found.ends,
        share=f"{min(1.0, run.tally.results.games / max(1, run.plan.games)):.1%}".rstrip("%"),
        charts=_draw_charts(data, found),
        machines=tuple(make_machine_row(task, now) for task in playing[:MOST_MACHINES]),
        more_machines=_count_more(len(playing) - MOST_MACHINES),
        parameters=tuple(page.list_parameters()),
        contributions=make_contribution_tables(run.kind, data.contributions),
        contributions_note=page.contributions_note,
        apart=tuple(make_task_row(each.task, now) for each in data.apart),
        tasks=tuple(make_task_row(task, now) for task in data.tasks),
        log=tuple(make_log_rows(data.actions[:MOST_ACTIONS], now)),
        more_log=len(data.actions) > MOST_ACTIONS,
        settings=list_settings(run),
        rights=list_rights(data.viewer, run, now),
        run=run,
        updated=format_ago(run.updated, now),
        following=data.following,
        texts=list_texts(run),
        next_steps=list_next_steps(run, has_long_preset=data.has_long_preset),
        downloads=list_downloads(run),
        hints=data.hints,
        built=_has_change(run),
        preview="" if data.private else describe_preview(heading, row.status, row.elo),
        address=data.address,
        change=describe_change(run, data.viewer, data.refused),
        explained=(DIFFERS, PURGES),
        life=stage(run.status).value,
    )


def _describe_games_left(ahead: RunForecast) -> str:
    """The expected further games in words. For a sequential test they are uncertain."""
    if ahead.range is None:
        return format_count(ahead.games)
    early, middle, late = (
        format_count(float(f"{games:.2g}"))
        for games in (ahead.range.early, ahead.games, ahead.range.late)
    )
    return f"roughly {early} to {late}" if ahead.is_rough else f"about {middle}"


def _has_change(run: Run) -> bool:
    new, base = run.plan.sides
    if not run.kind.compares or new.binary or base.binary:
        return False
    return new.commit != base.commit and bool(new.repository and base.repository)


def _draw_charts(data: RunPageData, elo: ShownElo | None) -> tuple[Chart, ...]:
    """The charts, from the same points and rates as the figures beside them."""
    run, speed = data.run, _find_speed(data)
    rate = measure_games_per_minute(run, _find_point_hour_ago(data), speed, data.now)
    plays = run.tally.workers > 0
    # If nobody plays, the latest games are as old as the run's last change.
    at, nps = (data.now, speed.nps) if plays else (run.updated, 0.0)
    present = None if run.status.finished else PresentPace(at, rate, nps, run.tally.cores)
    return draw_charts(run, add_present(data.samples, run, at, nps), elo, present)


def _find_speed(data: RunPageData) -> RunSpeed:
    known = data.speed is not NO_SPEED
    return data.speed if known else estimate_speed(data.run, data.playing)


def _find_point_hour_ago(data: RunPageData) -> ChartPoint | None:
    """The point from which rates and changes are measured."""
    before = [one for one in data.samples if one.at <= data.now - WINDOW]
    if before:
        return before[-1]
    return data.samples[0] if data.samples else None


def _list_evidence(
    diagnosis: RunDiagnosis | None, names: Mapping[str, str]
) -> tuple[NamedValue, ...]:
    if diagnosis is None or diagnosis.finding in MOVING:
        return ()
    return tuple(
        NamedValue(_name_figure(name, names), format_count(int(text)) if text.isdecimal() else text)
        for name, text in diagnosis.evidence
    )


def _name_figure(figure: str, names: Mapping[str, str]) -> str:
    """The figure with the names of other runs in the way; private ones are not named."""
    if not figure.startswith(AHEAD):
        return FIGURE_WORDS.get(figure, figure)
    return f"would take {names.get(figure.removeprefix(AHEAD), 'another test')} first"


def _describe_outcome(run: Run) -> str:
    """After how many games the run ended."""
    if not run.status.finished:
        return ""
    games = format_plural(run.tally.results.games, "game")
    return f"after {games}"


def _describe_results(run: Run) -> str:
    results = run.tally.results
    counts = (results.wins, results.losses, results.draws)
    won, lost, drawn = map(format_count, counts)
    return f"{won} won, {lost} lost, {drawn} drawn"


def _count_more(number: int) -> str:
    return f"and {format_plural(number, 'more machine')}" if number > 0 else ""
