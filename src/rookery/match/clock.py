"""The clocks of a game, the time that a move took, and how late the runner itself is."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from time import perf_counter

from rookery.boundary.watch import Histogram
from rookery.model.timecontrol import ClockControl, Depth, MoveTime, Nodes, TimeControl

SLACK_SECONDS = 0.1
"""An answer this long after the flag is still waited for, so that its true time can be read."""
STALL_FACTOR = 10.0
STALL_SECONDS = 60.0
SLOWEST_NPS = 10_000.0
"""A fixed number of nodes is expected to take no longer than it would at this speed."""


class SideClock:
    """Time left to one side during one game."""

    __slots__ = ("_margin_ms", "_moves_left", "remaining_ms", "tc")

    def __init__(self, tc: TimeControl, margin_ms: int) -> None:
        self.tc = tc
        self._margin_ms = margin_ms
        # The first move has its increment too, as every later one has.
        start = tc.seconds + tc.increment if isinstance(tc, ClockControl) else 0.0
        self.remaining_ms = round(1000 * start)
        self._moves_left = tc.moves if isinstance(tc, ClockControl) else None

    @property
    def allowed_ms(self) -> int | None:
        """How long this move may take; None where only a stall ends it."""
        if isinstance(self.tc, ClockControl):
            return self.remaining_ms + self._margin_ms
        if isinstance(self.tc, MoveTime):
            return round(1000 * self.tc.seconds) + self._margin_ms
        return None

    @property
    def wait_seconds(self) -> float:
        """How long the runner waits for the move."""
        if self.allowed_ms is not None:
            return self.allowed_ms / 1000 + SLACK_SECONDS
        expected = self.tc.nodes / SLOWEST_NPS if isinstance(self.tc, Nodes) else 0.0
        return STALL_FACTOR * expected + STALL_SECONDS

    def overrun_ms(self, seconds: float) -> int:
        """How long after the flag fell a move of so many seconds comes; 0 is in time."""
        return 0 if self.allowed_ms is None else max(0, int(seconds * 1000) - self.allowed_ms)

    def spend(self, seconds: float) -> None:
        """Take a move's time off the clock; what the margin lent is not owed."""
        if isinstance(self.tc, ClockControl):
            left = max(0, self.remaining_ms - int(seconds * 1000))
            self.remaining_ms = left + round(1000 * self.tc.increment)
            self._count_move(self.tc)

    def _count_move(self, tc: ClockControl) -> None:
        if tc.moves is None or self._moves_left is None:
            return
        self._moves_left -= 1
        if not self._moves_left:
            self._moves_left = tc.moves
            self.remaining_ms += round(1000 * tc.seconds)

    def go_words(self, side: str) -> str:
        """The words of `go` about this clock, which both engines are told."""
        if not isinstance(self.tc, ClockControl):
            return ""
        text = f" {side}time {max(1, self.remaining_ms)}"
        return text + (f" {side}inc {round(1000 * self.tc.increment)}" if self.tc.increment else "")

    @property
    def moves_to_go(self) -> str:
        return "" if self._moves_left is None else f" movestogo {self._moves_left}"


def go_line(mover: SideClock, white: SideClock, black: SideClock) -> bytes:
    """The command that starts the mover's search."""
    if isinstance(mover.tc, Nodes):
        words = f" nodes {mover.tc.nodes}"
    elif isinstance(mover.tc, Depth):
        words = f" depth {mover.tc.depth}"
    elif isinstance(mover.tc, MoveTime):
        words = f" movetime {max(1, round(1000 * mover.tc.seconds))}"
    else:
        words = white.go_words("w") + black.go_words("b") + mover.moves_to_go
    return b"go" + words.encode()


# How long a move took, when the runner itself may have been late to read it.
#
# The runner reads an answer once it has a processor and a turn of its loop, and on a busy machine
# that may be long after the answer came. A named pipe knows when it was last written to. Its stamp
# comes from a clock that moves in steps, so it is early by up to a few milliseconds: the answer
# came between the stamp and SLACK_SECONDS later, and not after it was read.
#
# So a move is charged up to the latest moment at which its answer may have come, and its flag has
# fallen only if it had at the earliest.

LATE_SLACK_SECONDS = 0.008
"""Two steps of the slowest usual clock of stamps (250 a second)."""


@dataclass(frozen=True, slots=True)
class SpentTime:
    """Seconds from asking to the answer: at least, as charged, and until it was read."""

    least: float
    charged: float
    read: float

    @property
    def late(self) -> float:
        """How late the runner surely was."""
        return self.read - self.charged


def spent_time(asked_at: float, read_at: float, written_at: float | None) -> SpentTime:
    """The time of a move from three moments on one clock.

    A stamp from before the asking or from after the reading says nothing.
    """
    read = read_at - asked_at
    if written_at is None or not asked_at - LATE_SLACK_SECONDS <= written_at <= read_at:
        return SpentTime(read, read, read)
    least = max(0.0, written_at - asked_at)
    return SpentTime(least, min(read, written_at + LATE_SLACK_SECONDS - asked_at), read)


# How late the runner itself is, because engines are not to pay for it.
#
# Turnaround is the time from reading a move to handing the turn over. Lag is how much later than
# due the loop wakes up, which is how long a move may lie in its pipe before it is read. Where the
# pipe itself told that a move was read late, the lateness was not charged and is counted.

# Seconds, seven steps a decade from 20 µs to 2 s.
BOUNDS = tuple(2e-5 * 10 ** (step / 7) for step in range(36))
PROBE_SECONDS = 0.02


def empty_histogram() -> Histogram:
    return Histogram(BOUNDS, (0,) * (len(BOUNDS) + 1))


def merge_histograms(one: Histogram, other: Histogram) -> Histogram:
    counts = tuple(a + b for a, b in zip(one.counts, other.counts, strict=True))
    return replace(one, counts=counts, total_seconds=one.total_seconds + other.total_seconds)


@dataclass(slots=True)
class Latency:
    """How late one runner process has been; its loop alone writes it."""

    turnaround: Histogram
    lag: Histogram
    cpu_seconds: float = 0.0
    plies: int = 0
    late_answers: int = 0
    late_seconds: float = 0.0
    flags_spared: int = 0
    """Moves that came in time and were read when the flag had fallen."""

    @classmethod
    def fresh(cls) -> "Latency":
        return cls(empty_histogram(), empty_histogram())

    def add_turnaround(self, seconds: float) -> None:
        self.turnaround = self.turnaround.with_one(seconds)

    def add_lag(self, seconds: float) -> None:
        self.lag = self.lag.with_one(max(0.0, seconds))

    def add_answer(self, late_seconds: float, *, spared: bool) -> None:
        """Count an answer that was surely read late."""
        self.late_answers += late_seconds > 0
        self.late_seconds += late_seconds
        self.flags_spared += spared

    def __add__(self, other: "Latency") -> "Latency":
        return Latency(
            merge_histograms(self.turnaround, other.turnaround),
            merge_histograms(self.lag, other.lag),
            self.cpu_seconds + other.cpu_seconds,
            self.plies + other.plies,
            self.late_answers + other.late_answers,
            self.late_seconds + other.late_seconds,
            self.flags_spared + other.flags_spared,
        )


@contextlib.asynccontextmanager
async def measure_lag(latency: Latency) -> AsyncIterator[None]:
    """Measures the lag of the running loop while the block lasts."""
    probe = asyncio.create_task(_probe(latency))
    try:
        yield
    finally:
        probe.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await probe


async def _probe(latency: Latency) -> None:
    while True:
        due = perf_counter() + PROBE_SECONDS
        await asyncio.sleep(PROBE_SECONDS)
        latency.add_lag(perf_counter() - due)
