"""One task as scripts read it, with what is nobody's business taken out."""

import math
from typing import Literal

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import asdict, replace

from rookery.core.spsa import Issued
from rookery.protocol.stats import Stats
from rookery.protocol.worker.machine import WorkerInfo

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
    """get_task; the last three fields belong to a task whose results were thrown out."""

    num_games: int
    active: bool
    last_updated: str
    start: int
    stats: Stats
    worker_info: WorkerDocument
    spsa_params: IssuedDocument | UnsetType = UNSET
    bad: bool | UnsetType = UNSET
    task_id: int | UnsetType = UNSET
    residual: float | Literal["inf"] | UnsetType = UNSET
    residual_color: Colour | UnsetType = UNSET


def masked(info: WorkerInfo, country_code: str = "?") -> WorkerDocument:
    """What a stranger may know of a machine."""
    shown = {**asdict(info), "unique_key": info.unique_key[:SHOWN_KEY] + "..."}
    if info.rookery is not UNSET:
        shown["rookery"] = replace(info.rookery, host="")
    return WorkerDocument(**shown, country_code=country_code)


def issued_document(issued: Issued) -> IssuedDocument:
    """Flips for people to look at."""
    return IssuedDocument(issued.iteration, tuple(issued.packed_flips))


def shown_residual(residual: float) -> float | Literal["inf"]:
    """JSON has no infinity, and a worker with too few games has an infinite residual."""
    return "inf" if math.isinf(residual) else residual
