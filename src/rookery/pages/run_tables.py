"""Rows of the tables on a run's page: machines, tasks, the log, the parameters of a tune."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from rookery.farm.ports import Contribution
from rookery.model.events import SYSTEM, Action, Event
from rookery.model.kinds import Kind, SpsaTuning
from rookery.model.run import Run
from rookery.model.task import Results, Task
from rookery.pages import figures, words
from rookery.pages.charts import spark_line
from rookery.pages.row import Tone
from rookery.pages.words import Moment
from rookery.stats.residuals import Colour
from rookery.stats.spsa import Tune


@dataclass(frozen=True, slots=True)
class MachineLine:
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


def machine_of(task: Task, now: datetime) -> MachineLine:
    machine = task.machine
    return MachineLine(
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


def happenings_of(actions: Iterable[Event], now: datetime) -> Iterable[Happening]:
    for action in actions:
        message = action.message or ""
        yield Happening(
            when=words.ago(action.at, now),
            who="the server" if action.actor == SYSTEM else action.actor,
            what=HAPPENED.get(action.action, action.action.replace("_", " ")) or message,
            message=message if HAPPENED.get(action.action, "-") else "",
        )


# Who played a run, with the Elo of each group, so that one that stands out is seen.

TONES = {Colour.GREEN: Tone.IDLE, Colour.YELLOW: Tone.YELLOW, Colour.RED: Tone.RED}
REMARKS = {Colour.GREEN: "", Colour.YELLOW: "differs a little", Colour.RED: "differs from the rest"}


@dataclass(frozen=True, slots=True)
class Group:
    """A row: one user's machines with one kind of processor."""

    user: str
    arch: str
    machines: str
    games: str
    share: str
    elo: str
    losses: str
    tone: Tone
    remark: str


def groups_of(kind: Kind, found: Sequence[Contribution]) -> tuple[Group, ...]:
    played: Mapping[str, Results] = {_key(one): one.results for one in found}
    all_games = sum(one.results.games for one in found)
    test = kind.judge(played)
    colours = {} if test is None else {who: test.colour(far) for who, far in test.residuals.items()}
    return tuple(
        _group(one, all_games, colours.get(_key(one), Colour.GREEN), with_elo=kind.may_purge)
        for one in found
    )


def _group(one: Contribution, all_games: int, colour: Colour, *, with_elo: bool) -> Group:
    results = one.results
    elo = figures.plain(results.pentanomial)
    return Group(
        user=one.user,
        arch=one.arch,
        machines=words.count(one.machines),
        games=words.count(results.games),
        share=f"{results.games / all_games:.0%}",
        elo=words.elo(elo.middle, elo.half_width) if with_elo else words.NOTHING,
        losses=_losses(results),
        tone=TONES[colour],
        remark=REMARKS[colour],
    )


def _losses(results: Results) -> str:
    """Crashes and losses on time, where there are any."""
    parts = []
    if results.crashes:
        parts.append(words.several(results.crashes, "crash", "crashes"))
    if results.time_losses:
        parts.append(words.several(results.time_losses, "time loss", "time losses"))
    return ", ".join(parts)


def _key(one: Contribution) -> str:
    return f"{one.user} {one.arch}"
