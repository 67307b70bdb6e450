"""The parts of a run's page that are computed, each from what was loaded for it: the live part, and
the latest changes. Each returns the values that its template shows."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from rookery.core.model.events import Event
from rookery.core.model.run import Run
from rookery.core.model.task import Task
from rookery.server.farm.read_values import Contribution
from rookery.server.farm.rules.answers import ChartPoint
from rookery.server.farm.rules.diagnosis import AHEAD, RunDiagnosis, RunFinding
from rookery.server.farm.rules.lifecycle import stage
from rookery.server.farm.rules.purge import BadTask
from rookery.server.farm.rules.review import Hint
from rookery.server.farm.views import NO_SPEED, RunSpeed
from rookery.server.runs.run.contributions import EXPLAINED, compare_groups
from rookery.server.show.charts import Chart
from rookery.server.show.heading import describe_stage
from rookery.server.show.kinds import page_of
from rookery.server.show.run_charts import PresentPace, draw_charts
from rookery.server.show.run_row import ListedRun, RunRow, make_run_row
from rookery.server.show.run_texts import list_texts
from rookery.server.show.statistics import WINDOW, add_present, estimate_speed, forecast_run

MOST_ACTIONS = 20
MOVING = frozenset({RunFinding.RUNNING, RunFinding.FINISHED, RunFinding.STARTING})
FIGURE_WORDS = {"machines": "machines here", "eligible": "can play it"}
"""The names of a diagnosis's figures, shown beside its sentence."""


# What moves: the state, the statistics, the charts and the machines.


@dataclass(frozen=True, slots=True)
class LiveRun:
    """What the live part is computed from: frozen values only, because a thread does it."""

    run: Run
    now: datetime
    speed: RunSpeed = NO_SPEED
    samples: tuple[ChartPoint, ...] = ()
    playing: tuple[Task, ...] = ()
    diagnosis: RunDiagnosis | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    """The names of other runs that this person may see, by id."""
    hints: tuple[Hint, ...] = ()
    """Hints for approvers, for the run's people."""


def show_live(live: LiveRun) -> Mapping[str, object]:
    """The values of `run_live.html`. It computes statistics, so call it in a thread."""
    run, now, row = live.run, live.now, estimate_row(live)
    return {
        "run": run,
        "now": now,
        "row": row,
        "stage": describe_stage(run, live.diagnosis, live.playing, now),
        "evidence": tuple(list_evidence(live.diagnosis, live.names)),
        "verdict_note": page_of(run.kind).verdict_note,
        "ahead": forecast_run(run),
        "charts": draw_live_charts(live, row),
        "playing": sorted(live.playing, key=lambda task: (-task.machine.cores, task.id)),
        "texts": list_texts(run),
        "hints": live.hints,
        # When the phase changes, the commands that people may use change too.
        "life": stage(run.status).value,
    }


def estimate_row(live: LiveRun) -> RunRow:
    """The same figures that lists show."""
    then = find_point_hour_ago(live)
    return make_run_row(ListedRun(live.run, then, _find_speed(live)), live.now)


def draw_live_charts(live: LiveRun, row: RunRow) -> tuple[Chart, ...]:
    """The charts, from the same points and rates as the figures beside them."""
    run, speed = live.run, _find_speed(live)
    plays = run.tally.workers > 0
    # If nobody plays, the latest games are as old as the run's last change.
    at, nps = (live.now, speed.nps) if plays else (run.updated, 0.0)
    present = None if run.status.finished else PresentPace(at, row.rate, nps, run.tally.cores)
    return draw_charts(run, add_present(live.samples, run, at, nps), row.elo, present)


def _find_speed(live: LiveRun) -> RunSpeed:
    known = live.speed is not NO_SPEED
    return live.speed if known else estimate_speed(live.run, live.playing)


def find_point_hour_ago(live: LiveRun) -> ChartPoint | None:
    """The point from which rates and changes are measured."""
    before = [one for one in live.samples if one.at <= live.now - WINDOW]
    if before:
        return before[-1]
    return live.samples[0] if live.samples else None


def list_evidence(
    diagnosis: RunDiagnosis | None, names: Mapping[str, str]
) -> Iterator[tuple[str, int | str]]:
    """The figures behind the reason why a run does not progress."""
    if diagnosis is None or diagnosis.finding in MOVING:
        return
    for name, text in diagnosis.evidence:
        yield _name_figure(name, names), int(text) if text.isdecimal() else text


def _name_figure(figure: str, names: Mapping[str, str]) -> str:
    """The figure with the names of other runs in the way; private ones are not named."""
    if not figure.startswith(AHEAD):
        return FIGURE_WORDS.get(figure, figure)
    return f"would take {names.get(figure.removeprefix(AHEAD), 'another test')} first"


# What is sent again now and then: contributors, the latest tasks and events.


@dataclass(frozen=True, slots=True)
class RecentRun:
    """What the latest changes are shown from."""

    run: Run
    now: datetime
    contributions: tuple[Contribution, ...] = ()
    apart: tuple[BadTask, ...] = ()
    tasks: tuple[Task, ...] = ()
    actions: tuple[Event, ...] = ()


def show_recent(recent: RecentRun) -> Mapping[str, object]:
    """The values of `run_late.html`: three tables. It compares groups, so call it in a thread."""
    return {
        "run": recent.run,
        "now": recent.now,
        "groups": compare_groups(recent.run.kind, recent.contributions),
        "explained": EXPLAINED,
        "groups_note": page_of(recent.run.kind).contributions_note,
        "apart": [each.task for each in recent.apart],
        "tasks": recent.tasks,
        "actions": recent.actions[:MOST_ACTIONS],
        "more_actions": len(recent.actions) > MOST_ACTIONS,
    }


def has_change(run: Run) -> bool:
    """Whether both sides are built from sources that differ."""
    new, base = run.plan.sides
    if not run.kind.compares or new.binary or base.binary:
        return False
    return new.commit != base.commit and bool(new.repository and base.repository)
