"""How late the runner itself is, because engines are not to pay for it.

Turnaround is the time from reading a move to handing the turn over. Lag is how much later than due
the loop wakes up, which is how long a move may lie in its pipe before it is read. Where the pipe
itself told that a move was read late, the lateness was not charged and is counted.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from time import perf_counter

from rookery.boundary.histogram import Histogram

# Seconds, seven steps a decade from 20 µs to 2 s.
BOUNDS = tuple(2e-5 * 10 ** (step / 7) for step in range(36))
PROBE_SECONDS = 0.02


def empty() -> Histogram:
    return Histogram(BOUNDS, (0,) * (len(BOUNDS) + 1))


def merged(one: Histogram, other: Histogram) -> Histogram:
    counts = tuple(a + b for a, b in zip(one.counts, other.counts, strict=True))
    return replace(one, counts=counts, total_seconds=one.total_seconds + other.total_seconds)


@dataclass(slots=True)
class Latency:
    """The figures of one runner process; its loop alone writes them."""

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
        return cls(empty(), empty())

    def turned_around(self, seconds: float) -> None:
        self.turnaround = self.turnaround.with_one(seconds)

    def woke_late(self, seconds: float) -> None:
        self.lag = self.lag.with_one(max(0.0, seconds))

    def read(self, late_seconds: float, *, spared: bool) -> None:
        """Count an answer that was surely read late."""
        self.late_answers += late_seconds > 0
        self.late_seconds += late_seconds
        self.flags_spared += spared

    def __add__(self, other: "Latency") -> "Latency":
        return Latency(
            merged(self.turnaround, other.turnaround),
            merged(self.lag, other.lag),
            self.cpu_seconds + other.cpu_seconds,
            self.plies + other.plies,
            self.late_answers + other.late_answers,
            self.late_seconds + other.late_seconds,
            self.flags_spared + other.flags_spared,
        )


@contextlib.asynccontextmanager
async def probed(latency: Latency) -> AsyncIterator[None]:
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
        latency.woke_late(perf_counter() - due)
