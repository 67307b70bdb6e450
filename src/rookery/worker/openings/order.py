"""The order in which openings are played: exactly fastchess's, so that a mixed fleet shares one.

The lines are shuffled forwards with std::mt19937_64 (for i in 0..n-2: j = i + draw mod (n - i),
swap), rotated left by start - 1 and repeated from the beginning when they run out. Step i settles
place i, so the shuffle is done only as far as somebody asks.
"""

import hashlib
from array import array
from collections.abc import Iterator, Sequence
from itertools import islice

from rookery.worker.openings.mt19937_64 import draws

CROWDED = 0.8
"""The share of a book beyond which a run soon repeats openings."""


def seed_of_run(run_id: str) -> int:
    """SHA-1 of the run's id as an integer, modulo 2^64."""
    return int.from_bytes(hashlib.sha1(run_id.encode()).digest(), "big") % 2**64  # noqa: S324 - no secret


class Order:
    """Which line of the book is the n-th opening of a run; shuffles on as far as asked."""

    def __init__(self, size: int, *, seed: int | None, start: int = 1) -> None:
        if size < 1 or start < 1:
            raise ValueError(f"an order needs openings and a start from 1 on: {size=}, {start=}")
        self.size = size
        self._offset = start - 1
        self._lines: Sequence[int] = range(size)
        self._settled = size
        if seed is not None:
            self._shuffle = _shuffle(shuffled := array("L", range(size)), draws(seed))
            self._lines, self._settled = shuffled, 0

    def __getitem__(self, pair: int) -> int:
        """The book line (from 0) of the pair with this number (from 0, counted from the start)."""
        if pair < 0:
            raise IndexError(pair)
        place = (self._offset + pair) % self.size
        if place >= self._settled:
            steps = place + 1 - self._settled
            self._settled += sum(1 for _ in islice(self._shuffle, steps))
        return self._lines[place]

    def take(self, pairs: int) -> list[int]:
        """The book lines of the first pairs."""
        return [self[pair] for pair in range(pairs)]


def order_of_run(size: int, run_id: str, *, start: int = 1) -> Order:
    """The order that every worker of a run shares; a task starts at 1 + games before it // 2."""
    return Order(size, seed=seed_of_run(run_id), start=start)


def sequential(size: int, *, start: int = 1) -> Order:
    """The book's own order."""
    return Order(size, seed=None, start=start)


def _shuffle(lines: "array[int]", chance: Iterator[int]) -> Iterator[None]:
    """Settle one place per step."""
    size = len(lines)
    for place in range(size - 1):
        other = place + next(chance) % (size - place)
        lines[place], lines[other] = lines[other], lines[place]
        yield
    yield
