"""The answers to worker calls: the server encodes them, our worker decodes them.

A field that is not set is not sent. `duration` is no field here: `encode_timed` adds it to every
answer. `task_alive` has no default where the protocol demands it.
"""

from typing import Annotated, TypeVar

from msgspec import UNSET, Meta, Raw, Struct, UnsetType, field

from rookery.core.model.bounds import Checksum, Count, Phrase, Positive, Word, Words
from rookery.core.model.task import Results
from rookery.core.protocol.codec import Reader
from rookery.core.stats.spsa import Perturbation, Tune, joint_signature

OFFICIAL_VERSION = 325
"""The version that official workers must have; with a higher one they would update for ever."""
PARTS = "parts"
"""A feature of ours: update_task takes any number of whole pairs, and credits late ones."""
WAITING = "waiting"
"""A feature of ours: request_task is held open until there is something to play."""
NOISE = "noise"
"""A feature of ours: a machine that says it is noisy gets no run that needs exact times."""
LARGEST_ANSWER = 16 * 2**20
A = TypeVar("A", bound="WorkerAnswer")


class WorkerAnswer(Struct, frozen=True, gc=False, kw_only=True):
    """What every answer may have: `error` refuses the call, `info` is printed by the worker."""

    error: str | UnsetType = UNSET
    info: str | UnsetType = UNSET


class RookeryServer(Struct, frozen=True, gc=False, omit_defaults=True):
    """Tells our worker that this is a Rookery server, its features and its current worker."""

    version: Word
    features: Words = ()
    wheel: Word = ""
    """The file below /worker/ to which the worker should update itself."""
    sha256: Word = ""
    signature: Phrase = ""
    """The signature of `wheel_message` by the key whose fingerprint was pinned when the worker was
    installed."""


def wheel_message(name: str, sha256: str) -> bytes:
    """Return the text that a server signs for the wheel of its worker."""
    return f"rookery worker wheel\n{name}\n{sha256}\n".encode()


class VersionAnswer(WorkerAnswer, frozen=True, gc=False, kw_only=True):
    """The answer to request_version."""

    version: int | UnsetType = UNSET
    rookery: RookeryServer | UnsetType = UNSET


class MyTask(Struct, frozen=True, gc=False, kw_only=True):
    """The part of a run that this worker plays."""

    num_games: Positive
    start: Count
    stats: Results | UnsetType = UNSET


class GrantedRun(Struct, frozen=True, gc=False, kw_only=True):
    """The fields of a run that a worker needs."""

    id: Word = field(name="_id")
    args: Raw
    """Decoded by TASK_ARGS; encoded once for all workers of a run."""
    my_task: MyTask


class TaskAnswer(WorkerAnswer, frozen=True, gc=False, kw_only=True):
    """The answer to request_task: either run and task_id, or task_waiting."""

    run: GrantedRun | UnsetType = UNSET
    task_id: Count | UnsetType = UNSET
    task_waiting: bool | UnsetType = UNSET


class AliveAnswer(WorkerAnswer, frozen=True, gc=False, kw_only=True):
    """The answer to beat and update_task."""

    task_alive: bool


class EndAnswer(WorkerAnswer, frozen=True, gc=False, kw_only=True):
    """The answer to failed_task, stop_run, upload_pgn and worker_log."""

    task_alive: bool | UnsetType = UNSET


class SpsaSetting(Struct, frozen=True, gc=False):
    """The value of an option; for the new engine also the step and its direction."""

    name: str
    value: float
    c: float | UnsetType = UNSET
    r: float | UnsetType = field(name="R", default=UNSET)
    flip: int | UnsetType = UNSET


Settings = tuple[SpsaSetting, ...]


class Slot(Struct, frozen=True, gc=False, kw_only=True):
    """One perturbation with final values, for our worker."""

    w_params: Settings
    b_params: Settings
    sig: Checksum


class SpsaAnswer(AliveAnswer, frozen=True, gc=False, kw_only=True):
    """The answer to request_spsa."""

    w_params: Settings | UnsetType = UNSET
    b_params: Settings | UnsetType = UNSET
    sig: Checksum | UnsetType = UNSET
    slots: Annotated[tuple[Slot, ...], Meta(max_length=1024)] | UnsetType = UNSET


def make_waiting_answer(info: str | UnsetType = UNSET) -> TaskAnswer:
    """Return the answer that there is no task now, because there is nothing to do or the server is
    busy."""
    return TaskAnswer(task_waiting=False, info=info)


def refuse_task(error: str) -> TaskAnswer:
    """Return the answer that this worker gets no task."""
    return TaskAnswer(task_waiting=False, error=error)


def refuse_update(error: str) -> AliveAnswer:
    """Return the answer that the result is refused and the task is over."""
    return AliveAnswer(task_alive=False, error=error)


def make_spsa_values(tune: Tune, drawn: Perturbation) -> SpsaAnswer:
    """Return the answer to an official worker: one perturbation."""
    names = [parameter.line.name for parameter in tune.parameters]
    return SpsaAnswer(
        task_alive=True,
        w_params=tuple(
            SpsaSetting(name, value, step.c, step.r, flip)
            for name, value, step, flip in zip(
                names, drawn.new, drawn.steps, drawn.flips, strict=True
            )
        ),
        b_params=_settings(names, drawn.base),
        sig=drawn.issued.signature,
    )


def make_spsa_slots(tune: Tune, drawn: tuple[Perturbation, ...]) -> SpsaAnswer:
    """Return the answer to our worker: a perturbation per slot."""
    names = [parameter.line.name for parameter in tune.parameters]
    return SpsaAnswer(
        task_alive=True,
        sig=joint_signature(each.issued.packed_flips for each in drawn),
        slots=tuple(
            Slot(
                w_params=_settings(names, each.new),
                b_params=_settings(names, each.base),
                sig=each.issued.signature,
            )
            for each in drawn
        ),
    )


def _settings(names: list[str], values: tuple[float, ...]) -> Settings:
    return tuple(SpsaSetting(name, value) for name, value in zip(names, values, strict=True))


PLAIN = Reader(WorkerAnswer, most_bytes=LARGEST_ANSWER)
VERSION = Reader(VersionAnswer, most_bytes=LARGEST_ANSWER)
TASK = Reader(TaskAnswer, most_bytes=LARGEST_ANSWER)
ALIVE = Reader(AliveAnswer, most_bytes=LARGEST_ANSWER)
SPSA = Reader(SpsaAnswer, most_bytes=LARGEST_ANSWER)
END = Reader(EndAnswer, most_bytes=LARGEST_ANSWER)
