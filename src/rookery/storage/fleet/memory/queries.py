"""What the database answers by SQL, asked of runs and tasks in memory."""

from collections.abc import Collection, Iterable

from rookery.core.results import total
from rookery.core.run import Run
from rookery.core.stats.flags import Flag
from rookery.core.task import Task
from rookery.core.timecontrol import base_seconds
from rookery.protocol.user.finished import LTC_SECONDS
from rookery.service.fleet.ports import Contribution, FinishedQuery, WorkerResults


def contributions_of(tasks: Iterable[Task]) -> tuple[Contribution, ...]:
    """Who played these tasks, those with the most games first."""
    groups: dict[tuple[str, str], list[Task]] = {}
    for task in tasks:
        if not task.bad and task.results.games:
            groups.setdefault((task.machine.user, task.machine.arch), []).append(task)
    found = [
        Contribution(
            *group,
            len({task.machine.key.split("-")[0] for task in played}),
            total(task.results for task in played),
        )
        for group, played in groups.items()
    ]
    return tuple(sorted(found, key=lambda one: (-one.results.games, one.user, one.arch)))


def results_by_worker(tasks: Iterable[Task]) -> tuple[WorkerResults, ...]:
    """What each process of a worker played of these tasks, those with the most games first."""
    groups: dict[str, list[Task]] = {}
    for task in tasks:
        if not task.bad and task.results.games:
            groups.setdefault(task.machine.key, []).append(task)
    found = [
        WorkerResults(
            played[0].machine.long_name,
            played[0].machine.user,
            total(task.results for task in played),
        )
        for played in groups.values()
    ]
    return tuple(sorted(found, key=lambda one: (-one.results.games, one.worker)))


def plays(run: Run, engines: Collection[str]) -> bool:
    return any(side.engine in engines for side in run.plan.sides)


def is_listed(run: Run, query: FinishedQuery) -> bool:
    """Whether a list of finished runs shows it."""
    status = run.status
    return (
        status.finished
        and not status.deleted
        and (not query.owner or run.plan.owner == query.owner)
        and (not query.engine or plays(run, {query.engine}))
        and (not query.green_only or status.flag is Flag.GREEN)
        and (not query.yellow_only or status.flag is Flag.YELLOW)
        and (not query.ltc_only or base_seconds(run.plan.tc) >= LTC_SECONDS)
        and (query.since is None or run.updated >= query.since)
        and not plays(run, query.hidden)
    )
