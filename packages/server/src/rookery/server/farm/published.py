"""Encodes and decodes what the primary publishes of its memory: signs of life and machines that
wait. There may be ten thousand, so this is done in a thread, in pieces that let other threads have
the interpreter in between.
"""

import zlib
from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple, Protocol, TypeVar

import msgspec

from rookery.core.model.machine import Machine
from rookery.core.model.task import TaskKey
from rookery.core.stats.residuals import Colour

T = TypeVar("T")
AT_ONCE = 500
FASTEST = 1
"""zlib's fastest level."""


class InThread(Protocol):
    """Runs a function in a thread, because it would hold up the event loop."""

    def __call__(self, work: Callable[[], T], /) -> Awaitable[T]: ...


async def inline(work: Callable[[], T], /) -> T:
    """Run a function on the loop: for tests and for fleets too small to hold it up."""
    return work()


class PublishedFigures(msgspec.Struct, frozen=True):
    """Figures that jobs of the primary compute periodically."""

    speeds: dict[str, tuple[float, float]]
    user_paces: dict[str, float]
    waiting_machines: int
    residual_colours: list[tuple[str, int, Colour]]


class Published(NamedTuple):
    """A published part: its age in seconds, when it last changed, and its body, or None if the
    reader already has it."""

    age: float
    changed: datetime
    body: bytes | None


class WaitingMachine(msgspec.Struct, array_like=True, frozen=True):
    """A machine that asked for a task and has none, with the runs that failed on it."""

    machine: Machine
    asked: float
    last: str
    failed: dict[str, float]


class PublishedMachines(NamedTuple):
    """The published last-seen times of active tasks, and the machines that wait."""

    seen: dict[TaskKey, datetime]
    waiting: tuple[WaitingMachine, ...]


_Seen = list[tuple[str, int, float]]
EncodedMachine = tuple[bytes, float, str, dict[str, float]]
"""The fields of a WaitingMachine, with the machine already encoded."""
_read_seen = msgspec.json.Decoder(_Seen)
_read_waiting = msgspec.json.Decoder(list[WaitingMachine])


def encode_figures(figures: PublishedFigures) -> bytes:
    return zlib.compress(msgspec.json.encode(figures), FASTEST)


def decode_figures(body: bytes) -> PublishedFigures:
    return msgspec.json.decode(zlib.decompress(body), type=PublishedFigures)


def encode_machines(
    seen: Sequence[tuple[TaskKey, datetime]], waiting: Sequence[EncodedMachine]
) -> bytes:
    """Encode lines of up to AT_ONCE entries each: signs of life, an empty line, machines."""
    lines = []
    for heard in _parts(seen):
        told = [(run, task, round(at.timestamp(), 1)) for (run, task), at in heard]
        lines.append(msgspec.json.encode(told))
    lines.append(b"")
    for some in _parts(waiting):
        raw = [(msgspec.Raw(machine), asked, last, failed) for machine, asked, last, failed in some]
        lines.append(msgspec.json.encode(raw))
    return zlib.compress(b"\n".join(lines), FASTEST)


def decode_machines(body: bytes) -> PublishedMachines:
    lines = zlib.decompress(body).split(b"\n")
    border = lines.index(b"")
    seen: dict[TaskKey, datetime] = {}
    for line in lines[:border]:
        for run, task, at in _read_seen.decode(line):
            seen[run, task] = datetime.fromtimestamp(at, UTC)
    waiting = [each for line in lines[border + 1 :] for each in _read_waiting.decode(line)]
    return PublishedMachines(seen, tuple(waiting))


def _parts(items: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), AT_ONCE):
        yield items[start : start + AT_ONCE]
