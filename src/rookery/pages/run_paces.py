"""How runs at play move, for the rows of lists: where each stood an hour ago and how fast it is.

Every list of runs loads this alike, so that rates, times left and the movement of the ratio are the
same wherever a run is listed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from rookery.farm.fleet import Fleet
from rookery.farm.views import RunSpeed
from rookery.model.run import Run
from rookery.model.task import Task
from rookery.pages.run_row import ListedRun, RunRow, make_run_row
from rookery.pages.run_statistics import WINDOW, estimate_speed
from rookery.rules.answers import ChartPoint
from rookery.web.site import Site

MOST_NEW = 50


@dataclass(frozen=True, slots=True)
class RunPaces:
    """What the rows of runs are made from beside the runs; it holds only those that are played."""

    then: Mapping[str, ChartPoint] = field(default_factory=dict)
    """The points of their charts of about an hour ago."""
    speeds: Mapping[str, RunSpeed] = field(default_factory=dict)
    new_tasks: Mapping[str, tuple[Task, ...]] = field(default_factory=dict)
    """Tasks at play of runs whose speed is not known yet."""

    def list_run(self, run: Run) -> ListedRun:
        speed = self.speeds.get(run.id)
        if speed is None:
            speed = estimate_speed(run, self.new_tasks.get(run.id, ()))
        return ListedRun(run, self.then.get(run.id), speed)

    def make_rows(self, runs: Iterable[Run], now: datetime) -> tuple[RunRow, ...]:
        """Computes statistics, so it is called in a thread."""
        return tuple(make_run_row(self.list_run(run), now) for run in runs)


NO_PACES = RunPaces()


async def load_paces(site: Site, runs: Iterable[Run], now: datetime) -> RunPaces:
    """By the same few queries, whatever the number of runs."""
    playing = [run for run in runs if run.tally.workers]
    then = await site.reads.samples_at([run.id for run in playing], now - WINDOW)
    speeds = dict(site.fleet.activity.speeds)
    return RunPaces(then, speeds, await _load_new_tasks(site.fleet, playing, speeds))


async def _load_new_tasks(
    fleet: Fleet, playing: Sequence[Run], speeds: Mapping[str, RunSpeed]
) -> dict[str, tuple[Task, ...]]:
    """The tasks of runs whose speed is worked out within the minute; not of all after a restart."""
    found = [run for run in playing if run.id not in speeds]
    tasks: dict[str, list[Task]] = {run.id: [] for run in found[:MOST_NEW]}
    for task in await fleet.views.tasks_at_play(tuple(tasks)) if tasks else ():
        tasks[task.run].append(task)
    return {run_id: tuple(each) for run_id, each in tasks.items()}
