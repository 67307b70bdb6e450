"""How long a move took, when the runner itself may have been late to read it.

The runner reads an answer once it has a processor and a turn of its loop, and on a busy machine
that may be long after the answer came. A named pipe knows when it was last written to. Its stamp
comes from a clock that moves in steps, so it is early by up to a few milliseconds: the answer came
between the stamp and SLACK_SECONDS later, and not after it was read.

So a move is charged up to the latest moment at which its answer may have come, and its flag has
fallen only if it had at the earliest.
"""

from dataclasses import dataclass

SLACK_SECONDS = 0.008
"""Two steps of the slowest usual clock of stamps (250 a second)."""


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds from asking to the answer: at least, as charged, and until it was read."""

    least: float
    charged: float
    read: float

    @property
    def late(self) -> float:
        """How late the runner surely was."""
        return self.read - self.charged


def spent(asked_at: float, read_at: float, written_at: float | None) -> Spent:
    """All on one clock; a stamp from before the asking or from after the reading says nothing."""
    read = read_at - asked_at
    if written_at is None or not asked_at - SLACK_SECONDS <= written_at <= read_at:
        return Spent(read, read, read)
    least = max(0.0, written_at - asked_at)
    return Spent(least, min(read, written_at + SLACK_SECONDS - asked_at), read)
