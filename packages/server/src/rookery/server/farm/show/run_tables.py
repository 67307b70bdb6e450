"""Rows of the tables on a run's page: machines, tasks, the log, parameters of a tune."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from rookery.core.model.events import SYSTEM, Action, Event
from rookery.core.model.task import Task
from rookery.server.http.pages.formatting import (
    Moment,
    format_ago,
    format_count,
    format_nps,
)

TASKS_PER_PAGE = 50


def address_task(run_id: str, task: int) -> str:
    """The address of a task in the list of its run's tasks, which are numbered from 0 without
    gaps."""
    page = task // TASKS_PER_PAGE + 1
    return f"/runs/{run_id}/tasks?sort=task&page={page}#task-{task}"


@dataclass(frozen=True, slots=True)
class MachineRow:
    """An active machine."""

    name: str
    short_name: str
    user: str
    cores: str
    speed: str
    games: str
    last_seen: Moment


@dataclass(frozen=True, slots=True)
class TaskRow:
    """A task. `link` leads to it in the list of all tasks of its run."""

    number: str
    link: str
    machine: str
    short_name: str
    state: str
    games: str
    score: str
    last_seen: Moment


@dataclass(frozen=True, slots=True)
class LogRow:
    """A line of the log."""

    when: Moment
    who: str
    what: str
    message: str


def make_machine_row(task: Task, now: datetime) -> MachineRow:
    machine = task.machine
    return MachineRow(
        name=machine.long_name,
        short_name=machine.short_name,
        user=machine.user,
        cores=format_count(machine.cores),
        speed=format_nps(machine.nps),
        games=f"{format_count(task.results.games)} of {format_count(task.games)}",
        last_seen=format_ago(task.reported, now),
    )


def make_task_row(task: Task, now: datetime) -> TaskRow:
    results = task.results
    return TaskRow(
        number=str(task.id),
        link=address_task(task.run, task.id),
        machine=task.machine.long_name,
        short_name=task.machine.short_name,
        state=describe_task_state(task),
        games=f"{format_count(results.games)} of {format_count(task.games)}",
        score=f"+{results.wins} -{results.losses} ={results.draws}",
        last_seen=format_ago(task.reported, now),
    )


def describe_task_state(task: Task) -> str:
    if task.too_fast:
        return "kept apart"
    return "struck out" if task.bad else "playing" if task.active else "ended"


ACTION_TEXTS: Mapping[str, str] = {
    Action.NEW_RUN: "submitted",
    Action.APPROVE_RUN: "",
    Action.MODIFY_RUN: "modified",
    Action.STOP_RUN: "stopped",
    Action.FINISHED_RUN: "finished",
    Action.PURGE_RUN: "purged",
    Action.DELETE_RUN: "deleted",
    Action.RESTORE_RUN: "restored",
    Action.REOPEN_RUN: "",
    Action.FAILED_TASK: "a task failed",
    Action.DEAD_TASK: "a task was given up",
    Action.CRASH_OR_TIME: "crashes or time losses",
    Action.TOO_FAST: "played too fast",
    Action.WORKER_LOG: "a worker message",
}
"""Actions in the past tense. For an empty one, only its message is shown."""


def make_log_rows(actions: Iterable[Event], now: datetime) -> Iterable[LogRow]:
    for action in actions:
        message = action.message or ""
        yield LogRow(
            when=format_ago(action.at, now),
            who="the server" if action.actor == SYSTEM else action.actor,
            what=ACTION_TEXTS.get(action.action, action.action.replace("_", " ")) or message,
            message=message if ACTION_TEXTS.get(action.action, "-") else "",
        )
