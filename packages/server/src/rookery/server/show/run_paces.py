"""The speed of active runs for the rows of lists: their state an hour ago and their present rate.

All lists of runs load it the same way, so that rates, remaining times and changes of the ratio
agree.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from rookery.core.model.run import Run
from rookery.core.model.task import Task
from rookery.server.farm.fleet import Fleet
from rookery.server.farm.reads import FleetReads
from rookery.server.farm.rules.answers import ChartPoint
from rookery.server.farm.views import RunSpeed
from rookery.server.show.run_row import ListedRun, RunRow, make_run_row
from rookery.server.show.statistics import WINDOW, estimate_speed

MOST_NEW = 50


@dataclass(frozen=True, slots=True)
class RunPaces:
    """The additional data for rows of runs. It covers active runs only."""

    then: Mapping[str, ChartPoint] = field(default_factory=dict)
    """The points of their charts from about an hour ago."""
    speeds: Mapping[str, RunSpeed] = field(default_factory=dict)
    new_tasks: Mapping[str, tuple[Task, ...]] = field(default_factory=dict)
    """The active tasks of runs whose speed is not known yet."""

    def knows(self, run: Run) -> bool:
        """Whether a running test's speed is known. After a restart it takes a minute for all."""
        return run.id in self.speeds or run.id in self.new_tasks

    def list_run(self, run: Run) -> ListedRun:
        speed = self.speeds.get(run.id)
        if speed is None:
            speed = estimate_speed(run, self.new_tasks.get(run.id, ()))
        return ListedRun(run, self.then.get(run.id), speed)

    def make_rows(self, runs: Iterable[Run], now: datetime) -> tuple[RunRow, ...]:
        """The rows of these runs. It computes statistics, so call it in a thread."""
        return tuple(make_run_row(self.list_run(run), now) for run in runs)


NO_PACES = RunPaces()


async def load_paces(
    fleet: Fleet, reads: FleetReads, runs: Iterable[Run], now: datetime
) -> RunPaces:
    """Load with a fixed number of queries, whatever the number of runs."""
    playing = [run for run in runs if run.tally.workers]
    then = await reads.samples_at([run.id for run in playing], now - WINDOW)
    speeds = dict(fleet.activity.speeds)
    return RunPaces(then, speeds, await _load_new_tasks(fleet, playing, speeds))


async def _load_new_tasks(
    fleet: Fleet, playing: Sequence[Run], speeds: Mapping[str, RunSpeed]
) -> dict[str, tuple[Task, ...]]:
    """The tasks of active runs whose speed is not computed yet: of a limited number, since after a
    restart that is all of them."""
    found = [run for run in playing if run.id not in speeds]
    tasks: dict[str, list[Task]] = {run.id: [] for run in found[:MOST_NEW]}
    for task in await fleet.views.tasks_at_play(tuple(tasks)) if tasks else ():
        tasks[task.run].append(task)
    return {run_id: tuple(each) for run_id, each in tasks.items()}
