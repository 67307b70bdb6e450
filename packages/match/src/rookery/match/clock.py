"""The clocks of a game, the time taken by a move, and the latency of the runner itself."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from time import perf_counter

from rookery.core.boundary.watch import Histogram
from rookery.core.model.timecontrol import ClockControl, Depth, MoveTime, Nodes, TimeControl

SLACK_SECONDS = 0.1
"""How long after the flag an answer is still awaited, so that its true time can be measured."""
STALL_FACTOR = 10.0
STALL_SECONDS = 60.0
SLOWEST_NPS = 10_000.0
"""The speed assumed for a limit of nodes: an engine may take as long as at this speed."""


class SideClock:
    """The time left to one side during a game."""

    __slots__ = ("_margin_ms", "_moves_left", "remaining_ms", "tc")

    def __init__(self, tc: TimeControl, margin_ms: int) -> None:
        self.tc = tc
        self._margin_ms = margin_ms
        # The first move gets an increment too, like every later one.
        start = tc.seconds + tc.increment if isinstance(tc, ClockControl) else 0.0
        self.remaining_ms = round(1000 * start)
        self._moves_left = tc.moves if isinstance(tc, ClockControl) else None

    @property
    def allowed_ms(self) -> int | None:
        """How long this move may take; None if only a stall ends it."""
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
        """By how much a move of this duration exceeds the clock, in milliseconds; 0 if it is in
        time."""
        return 0 if self.allowed_ms is None else max(0, int(seconds * 1000) - self.allowed_ms)

    def spend(self, seconds: float) -> None:
        """Take a move's time off the clock. Time used from the margin is not deducted."""
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
        """Return the arguments of `go` about this clock, which both engines receive."""
        if not isinstance(self.tc, ClockControl):
            return ""
        text = f" {side}time {max(1, self.remaining_ms)}"
        return text + (f" {side}inc {round(1000 * self.tc.increment)}" if self.tc.increment else "")

    @property
    def moves_to_go(self) -> str:
        return "" if self._moves_left is None else f" movestogo {self._moves_left}"


def go_line(mover: SideClock, white: SideClock, black: SideClock) -> bytes:
    """Return the command that starts the mover's search."""
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
# The runner reads an answer once it has a processor and an iteration of its loop. On a busy machine
# that may be long after the answer came. A named pipe records when it was last written to. Its
# timestamp comes from a clock that moves in steps, so it is early by up to a few milliseconds: the
# answer came between the timestamp and LATE_SLACK_SECONDS later, and not after it was read.
#
# So a move is charged up to the latest possible moment of its answer, and its flag has fallen only
# if it had at the earliest one.

LATE_SLACK_SECONDS = 0.008
"""Two steps of the slowest usual clock for timestamps (250 a second)."""


@dataclass(frozen=True, slots=True)
class SpentTime:
    """The seconds from the request to the answer: the least possible, as charged, and until it was
    read."""

    least: float
    charged: float
    read: float

    @property
    def late(self) -> float:
        """By how many seconds the runner was certainly late."""
        return self.read - self.charged


def spent_time(asked_at: float, read_at: float, written_at: float | None) -> SpentTime:
    """Return the time of a move from three moments on one clock.

    A timestamp from before the request or after the reading is ignored.
    """
    read = read_at - asked_at
    if written_at is None or not asked_at - LATE_SLACK_SECONDS <= written_at <= read_at:
        return SpentTime(read, read, read)
    least = max(0.0, written_at - asked_at)
    return SpentTime(least, min(read, written_at + LATE_SLACK_SECONDS - asked_at), read)


# The latency of the runner itself, which engines must not pay for.
#
# Turnaround is the time from reading a move to starting the other side's. Lag is how late the loop
# wakes up, which is how long a move may wait in its pipe before it is read. If the pipe shows that
# a move was read late, the delay is not charged, and it is counted.

# In seconds: seven steps per decade, from 20 µs to 2 s.
BOUNDS = tuple(2e-5 * 10 ** (step / 7) for step in range(36))
PROBE_SECONDS = 0.02


def empty_histogram() -> Histogram:
    return Histogram(BOUNDS, (0,) * (len(BOUNDS) + 1))


def merge_histograms(one: Histogram, other: Histogram) -> Histogram:
    counts = tuple(a + b for a, b in zip(one.counts, other.counts, strict=True))
    return replace(one, counts=counts, total_seconds=one.total_seconds + other.total_seconds)


@dataclass(slots=True)
class Latency:
    """The latency of one runner process. Only its loop writes to it."""

    turnaround: Histogram
    lag: Histogram
    cpu_seconds: float = 0.0
    plies: int = 0
    late_answers: int = 0
    late_seconds: float = 0.0
    flags_spared: int = 0
    """Moves that came in time, but were read after the flag had fallen."""

    @classmethod
    def fresh(cls) -> "Latency":
        return cls(empty_histogram(), empty_histogram())

    def add_turnaround(self, seconds: float) -> None:
        self.turnaround = self.turnaround.with_one(seconds)

    def add_lag(self, seconds: float) -> None:
        self.lag = self.lag.with_one(max(0.0, seconds))

    def add_answer(self, late_seconds: float, *, spared: bool) -> None:
        """Count an answer that was certainly read late."""
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
    """Measure the lag of the running loop for the length of the block."""
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
