"""Rows of the tables on a run's page: machines, tasks, the log, the parameters of a tune."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from msgspec import UNSET

from rookery.core.events import SYSTEM, Action
from rookery.core.kinds import SpsaTuning
from rookery.core.run import Run
from rookery.core.spsa import Tune
from rookery.core.task import Task
from rookery.protocol.user.actions import ActionDocument
from rookery.web.ui.views import words
from rookery.web.ui.views.marks import spark_line
from rookery.web.ui.views.words import Moment


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine at play."""

    name: str
    user: str
    cores: str
    speed: str
    games: str
    heard: Moment


@dataclass(frozen=True, slots=True)
class TaskRow:
    number: str
    machine: str
    state: str
    games: str
    score: str
    heard: Moment


@dataclass(frozen=True, slots=True)
class Happening:
    """A line of the log."""

    when: Moment
    who: str
    what: str
    message: str


@dataclass(frozen=True, slots=True)
class ParameterRow:
    name: str
    start: str
    now: str
    moved: str
    range: str
    path: str
    """Where it has been, as a line in a drawing of 100 by 20."""


def parameters_of(run: Run) -> tuple[ParameterRow, ...]:
    return tuple(_parameter_rows(run.kind.tune)) if isinstance(run.kind, SpsaTuning) else ()


def _parameter_rows(tune: Tune) -> Iterable[ParameterRow]:
    for place, (parameter, theta) in enumerate(zip(tune.parameters, tune.thetas, strict=True)):
        line = parameter.line
        values = [line.start, *(point[place].theta for point in tune.history), theta]
        yield ParameterRow(
            name=line.name,
            start=words.plain(line.start),
            now=words.fixed(theta),
            moved=words.signed(theta - line.start),
            range=f"{words.plain(line.minimum)} to {words.plain(line.maximum)}",
            path=spark_line(values, line.minimum, line.maximum),
        )


def machine_of(task: Task, now: datetime) -> Machine:
    machine = task.machine
    return Machine(
        name=machine.long_name,
        user=machine.user,
        cores=words.count(machine.cores),
        speed=words.speed(machine.nps),
        games=f"{words.count(task.results.games)} of {words.count(task.games)}",
        heard=words.ago(task.reported, now),
    )


def task_row(task: Task, now: datetime) -> TaskRow:
    results = task.results
    return TaskRow(
        number=str(task.id),
        machine=task.machine.long_name,
        state=_state(task),
        games=f"{words.count(results.games)} of {words.count(task.games)}",
        score=f"+{results.wins} -{results.losses} ={results.draws}",
        heard=words.ago(task.reported, now),
    )


def _state(task: Task) -> str:
    if task.too_fast:
        return "kept apart"
    return "struck out" if task.bad else "playing" if task.active else "ended"


HAPPENED: Mapping[str, str] = {
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
    Action.WORKER_LOG: "a worker says",
}
"""In the past tense; an empty one is told by its message alone."""


def happenings_of(actions: Iterable[ActionDocument], now: datetime) -> Iterable[Happening]:
    for action in actions:
        message = "" if action.message is UNSET else action.message
        yield Happening(
            when=words.ago(datetime.fromtimestamp(action.time, UTC), now),
            who="the server" if action.username == SYSTEM else action.username,
            what=HAPPENED.get(action.action, action.action.replace("_", " ")) or message,
            message=message if HAPPENED.get(action.action, "-") else "",
        )
