"""Computes from runs and tasks in memory what the database answers by SQL."""

from collections.abc import Callable, Collection, Iterable, Sequence

from rookery.core.model.events import Event
from rookery.core.model.machine import Machine
from rookery.core.model.run import Run
from rookery.core.model.task import Task, total
from rookery.core.model.timecontrol import LONG_SECONDS, base_seconds
from rookery.core.stats.sprt import Flag
from rookery.server.farm.read_values import (
    Contribution,
    FailureGroup,
    FinishedRunsQuery,
    Grouping,
    TaskOrder,
    TaskQuery,
    WorkerResults,
    may_begin_commit,
)


def contributions_of(tasks: Iterable[Task]) -> tuple[Contribution, ...]:
    """The contributions to these tasks, largest first."""
    groups: dict[tuple[Grouping, str], list[Task]] = {}
    for task in tasks:
        if not task.bad and task.results.games:
            for group in names_of(task.machine).items():
                groups.setdefault(group, []).append(task)
    found = [
        Contribution(
            *group,
            len({(task.machine.user, task.machine.key.split("-")[0]) for task in played}),
            total(task.results for task in played),
            sum(by is group[0] for by, _ in groups),
            sum(
                task.results.games
                for (by, _), those in groups.items()
                if by is group[0]
                for task in those
            ),
        )
        for group, played in groups.items()
    ]
    return tuple(sorted(found, key=lambda one: (one.by, -one.results.games, one.name)))


def names_of(machine: Machine) -> dict[Grouping, str]:
    """The groups that a machine belongs to."""
    return {
        Grouping.USER: machine.user,
        Grouping.CPU: machine.claimed.cpu,
        Grouping.ARCH: machine.arch,
        Grouping.RUNNER: machine.claimed.runner,
    }


ORDERS: dict[TaskOrder, Callable[[Task], float | str]] = {
    TaskOrder.NUMBER: lambda task: task.id,
    TaskOrder.MACHINE: lambda task: task.machine.long_name,
    TaskOrder.GAMES: lambda task: task.results.games,
    TaskOrder.REPORTED: lambda task: task.reported.timestamp(),
    TaskOrder.CRASHES: lambda task: task.results.crashes,
    TaskOrder.TIME_LOSSES: lambda task: task.results.time_losses,
}


def is_wanted(task: Task, query: TaskQuery) -> bool:
    """Whether a list of tasks contains the task."""
    states = {
        "": True,
        "playing": task.active,
        "ended": not (task.active or task.bad or task.too_fast),
        "struck out": task.bad and not task.too_fast,
        "kept apart": task.too_fast,
        "crashes": task.results.crashes + task.results.time_losses > 0,
        "differing": task.machine.long_name in query.differing,
    }
    machine = task.machine
    name = f"{machine.user}-{machine.cores}cores-{machine.key}"
    return states[query.state] and query.text.lower() in name.lower()


def results_by_worker(tasks: Iterable[Task]) -> tuple[WorkerResults, ...]:
    """The results of each worker process in these tasks, most games first."""
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


def searched_words(run: Run) -> str:
    """The text of a run that searches look in."""
    out = run.status.approved or run.tally.tasks > 0
    tags = [side.tag for side in run.plan.sides]
    engines = [side.engine for side in run.plan.sides]
    return " ".join((run.plan.owner, *engines, *tags, run.plan.info if out else ""))


def begins_commit(run: Run, text: str) -> bool:
    out = run.status.approved or run.tally.tasks > 0
    sides = run.plan.sides
    begun = any(side.commit.startswith(text.lower()) for side in sides)
    return out and begun and may_begin_commit(text)


def is_listed(run: Run, query: FinishedRunsQuery) -> bool:
    """Whether a list of finished runs contains the run."""
    status = run.status
    return (
        (status.finished or query.deleted)
        and status.deleted is query.deleted
        and (not query.owner or run.plan.owner == query.owner)
        and (not query.engine or plays(run, {query.engine}))
        and (not query.green_only or status.flag is Flag.GREEN)
        and (not query.yellow_only or status.flag is Flag.YELLOW)
        and (not query.ltc_only or base_seconds(run.plan.time_control) >= LONG_SECONDS)
        and (query.since is None or run.updated >= query.since)
        and (query.until is None or run.updated < query.until)
        and (query.text.lower() in searched_words(run).lower() or begins_commit(run, query.text))
        and not plays(run, query.hidden)
    )


def group_failures(events: Sequence[Event]) -> FailureGroup:
    last = events[-1]
    return FailureGroup(
        run=last.run,
        run_name=last.run_name,
        action=last.action,
        message=last.message or "",
        count=len(events),
        machines=len({"-".join(event.worker.split("-")[:3]) for event in events}),
        first=events[0].at,
        last=last.at,
        latest=tuple((event.worker, event.task or 0) for event in reversed(events[-5:])),
    )
