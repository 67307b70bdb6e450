"""The calls of workers: one Struct and one reader per endpoint.

A body is decoded as a whole. If that fails, `CREDENTIALS` reads only the caller's credentials, so
that a stranger is told about wrong credentials before being told about wrong fields.
"""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field
from msgspec.structs import force_setattr

from rookery.core.model.bounds import LONGEST_MESSAGE, Amount, Checksum, Count, RunId, Word
from rookery.core.model.machine import WorkerInfo
from rookery.core.model.task import Provenance, Results
from rookery.core.protocol.codec import Reader

LONGEST_LOG = 2**20
LARGEST_PGN = 200 * 10**6
MOST_SLOTS = 1024

Secret = Annotated[str, Meta(max_length=1000)]
Log = Annotated[str, Meta(max_length=LONGEST_LOG)]
Pgn = Annotated[bytes, Meta(max_length=LARGEST_PGN)]
Slots = Annotated[int, Meta(ge=0, le=MOST_SLOTS)]


class WorkerOwner(Struct, frozen=True, gc=False):
    """Whose worker calls: the part of worker_info that request_version needs."""

    user: Word = field(name="username")


class Credentials(Struct, frozen=True, gc=False):
    """The body of request_version, and the credentials in any larger body."""

    password: Secret
    worker_info: WorkerOwner


class TaskRequest(Struct, frozen=True, gc=False, kw_only=True):
    """The fields of every call but request_version."""

    password: Secret
    worker_info: WorkerInfo


class TaskWish(Struct, frozen=True, gc=False):
    """The seconds that our worker would wait for a task."""

    wait: Amount = 0.0


class RequestTask(TaskRequest, frozen=True, gc=False, kw_only=True):
    """The body of request_task from our worker."""

    rookery: TaskWish | UnsetType = UNSET


class TaskCall(TaskRequest, frozen=True, gc=False, kw_only=True):
    """The body of beat, and the fields of every call about a task."""

    run_id: RunId
    task_id: Count


class SlotResult(Struct, frozen=True, gc=False, kw_only=True):
    """The games of one perturbation, counted for the new engine."""

    num_games: Count
    wins: Count
    losses: Count
    draws: Count
    sig: Checksum = 0

    def __post_init__(self) -> None:
        if self.wins + self.losses + self.draws != self.num_games:
            raise ValueError("wins, losses and draws do not add up to num_games")
        if self.num_games % 2:
            raise ValueError("num_games is odd")


class SpsaResult(SlotResult, frozen=True, gc=False, kw_only=True):
    """The games of one batch; our worker adds those of each perturbation, in the order of the
    answer."""

    slots: Annotated[tuple[SlotResult, ...], Meta(max_length=MOST_SLOTS)] = ()

    def __post_init__(self) -> None:
        # A Struct's class is rebuilt by its metaclass, which a bare super() would miss.
        SlotResult.__post_init__(self)
        if self.slots and sum(slot.num_games for slot in self.slots) != self.num_games:
            raise ValueError("the slots do not add up to num_games")


class UpdateTask(TaskCall, frozen=True, gc=False, kw_only=True):
    """The body of update_task."""

    stats: Results
    spsa: SpsaResult | UnsetType = UNSET
    rookery: Provenance | UnsetType = UNSET


class SpsaWish(Struct, frozen=True, gc=False):
    """The number of perturbations that our worker wants at once."""

    slots: Slots = 0


class RequestSpsa(TaskCall, frozen=True, gc=False, kw_only=True):
    """The body of request_spsa; its stats and previous batch are ignored."""

    rookery: SpsaWish | UnsetType = UNSET


class Failure(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """What our worker adds to a failure: the whole log, the bench it measured, and who is to blame:
    the run if every machine must fail on it."""

    log: Log = ""
    bench: Count = 0
    blame: Literal["machine", "run"] = "machine"


class FailedTask(TaskCall, frozen=True, gc=False, kw_only=True):
    """The body of failed_task and stop_run."""

    message: str = ""
    rookery: Failure | UnsetType = UNSET

    def __post_init__(self) -> None:
        _cut_message(self, self.message)


class UploadPgn(TaskCall, frozen=True, gc=False, kw_only=True):
    """The body of upload_pgn: gzip bytes, sent as base64."""

    pgn: Pgn
    message: str = ""

    def __post_init__(self) -> None:
        _cut_message(self, self.message)
        if not self.pgn.startswith(b"\x1f\x8b"):
            raise ValueError("pgn is not a gzip stream")


class WorkerLog(TaskRequest, frozen=True, gc=False, kw_only=True):
    """The body of worker_log, with or without a task."""

    message: str
    run_id: RunId | UnsetType = UNSET
    task_id: Count | UnsetType = UNSET
    rookery: Failure | UnsetType = UNSET

    def __post_init__(self) -> None:
        _cut_message(self, self.message)
        if (self.run_id is UNSET) != (self.task_id is UNSET):
            raise ValueError("run_id and task_id come together or not at all")


def _cut_message(request: Struct, message: str) -> None:
    if len(message) > LONGEST_MESSAGE:
        force_setattr(request, "message", message[:LONGEST_MESSAGE])


_WITH_LOG = 4 * LONGEST_LOG
_WITH_PGN = LARGEST_PGN * 4 // 3 + LONGEST_LOG

CREDENTIALS = Reader(Credentials, most_bytes=_WITH_PGN)
REQUEST_VERSION = Reader(Credentials)
REQUEST_TASK = Reader(RequestTask)
BEAT = Reader(TaskCall)
UPDATE_TASK = Reader(UpdateTask)
REQUEST_SPSA = Reader(RequestSpsa)
FAILED_TASK = Reader(FailedTask, most_bytes=_WITH_LOG)
STOP_RUN = Reader(FailedTask, most_bytes=_WITH_LOG)
UPLOAD_PGN = Reader(UploadPgn, most_bytes=_WITH_PGN)
WORKER_LOG = Reader(WorkerLog, most_bytes=_WITH_LOG)
