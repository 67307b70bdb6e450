"""Runs and tasks in fishtest's API for scripts, under fishtest's names."""

import math
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field
from msgspec.structs import replace

from rookery.core.model.bounds import Amount
from rookery.core.model.machine import WorkerInfo
from rookery.core.model.run import STOCKFISH_NPS, Run
from rookery.core.model.task import Results
from rookery.core.protocol.codec import to_finite
from rookery.core.protocol.kinds import SETTINGS, History, wire_of
from rookery.core.protocol.runs import FISHTEST_KEYS, derive_view, flatten
from rookery.core.protocol.user_queries import LiveElo
from rookery.core.stats.spsa import Issued

# The arguments of a run.

ARGS_DOCUMENT = derive_view(
    "RunArgs",
    required=(*FISHTEST_KEYS, "tests_repo", "itp"),
    without=("book_sri",),
    others={
        "itp": float,
        **{key: types.answer for key, types in SETTINGS.items()},
        "reference_nps": Amount,
    },
)
"""The schema of the result of `args_document`."""
ArgsDocument = Annotated[
    dict[str, Any], Meta(extra_json_schema={"$ref": "#/components/schemas/RunArgs"})
]


def args_document(run: Run, history: History | UnsetType = UNSET) -> dict[str, Any]:
    """Return the arguments of a run under flat keys, with the state of its test or tune."""
    flat = flatten(run.plan) | {"itp": to_finite(run.share)}
    flat.pop("book_sri", None)
    flat |= wire_of(run.kind).document(history)
    if run.reference_nps != STOCKFISH_NPS:
        flat["reference_nps"] = to_finite(run.reference_nps)
    return flat


SCHEMA_VERSION = 24


class RunDocument(Struct, frozen=True, gc=False, kw_only=True):
    """A run; dates are texts, and tasks are never listed inside it."""

    id: str = field(name="_id")
    version: int = SCHEMA_VERSION
    start_time: str
    last_updated: str
    tc_base: float
    rescheduled_from: str | UnsetType = UNSET
    approved: bool
    approver: str
    finished: bool
    deleted: bool
    failed: bool
    failures: int
    is_green: bool
    is_yellow: bool
    workers: int
    cores: int
    committed_games: int
    total_games: int
    results: Results
    nps: float
    games_per_minute: float
    args: ArgsDocument
    tasks: tuple[()] | UnsetType = UNSET
    bad_tasks: tuple[()] | UnsetType = UNSET
    elo: LiveElo | UnsetType = UNSET


# One task, without what is private about its machine.

NO_ADDRESS = "?.?.?.?"
SHOWN_KEY = 8
Colour = Literal["green", "yellow", "red"]


class WorkerDocument(WorkerInfo, frozen=True, gc=False, kw_only=True):
    """The machine that played, without its address and most of its key."""

    remote_addr: str = NO_ADDRESS
    country_code: str = "?"


class IssuedDocument(Struct, frozen=True, gc=False):
    """The flips that are being played, as byte values."""

    iter: int
    packed_flips: tuple[int, ...]


class TaskDocument(Struct, frozen=True, gc=False, kw_only=True):
    """The answer of get_task; the last four fields are those of a purged task."""

    num_games: int
    active: bool
    last_updated: str
    start: int
    stats: Results
    worker_info: WorkerDocument
    spsa_params: IssuedDocument | UnsetType = UNSET
    bad: bool | UnsetType = UNSET
    task_id: int | UnsetType = UNSET
    residual: float | Literal["inf"] | UnsetType = UNSET
    residual_color: Colour | UnsetType = UNSET


def mask_worker(info: WorkerInfo, country_code: str = "?") -> WorkerDocument:
    """Return the public part of a machine."""
    shown = {name: getattr(info, name) for name in WorkerInfo.__struct_fields__}
    shown["key"] = info.key[:SHOWN_KEY] + "..."
    if info.rookery is not UNSET:
        shown["rookery"] = replace(info.rookery, host="")
    return WorkerDocument(**shown, country_code=country_code)


def issued_document(issued: Issued) -> IssuedDocument:
    """Return the flips of a perturbation, for get_task."""
    return IssuedDocument(issued.iteration, tuple(issued.packed_flips))


def format_residual(residual: float) -> float | Literal["inf"]:
    """Return the residual, with "inf" for infinity, which JSON lacks: that of a worker with too few
    games."""
    return "inf" if math.isinf(residual) else residual


class QuotaDocument(Struct, frozen=True, gc=False, kw_only=True):
    """Calls allowed, left and made, and when the count starts anew (UNIX seconds)."""

    limit: int
    remaining: int
    reset: int
    used: int
    resource: str = "core"
    uninitialized: bool = field(name="_uninitialized")
