"""How long to wait before asking again: twice as long each time, and never all at once."""

from collections.abc import Callable

FIRST_SECONDS = 15.0
LONGEST_SECONDS = 900.0
IDLE_FIRST_SECONDS = 2.0
IDLE_LONGEST_SECONDS = 60.0
JITTER = 0.25


class Backoff:
    """One row of waits; a success begins it anew. A fleet must not come back in one moment, so
    that each wait is a quarter shorter to a quarter longer by chance."""

    def __init__(self, first: float, longest: float, chance: Callable[[], float]) -> None:
        self._first = first
        self._longest = longest
        self._chance = chance
        self._next = first

    def seconds(self) -> float:
        """The next wait."""
        wait, self._next = self._next, min(2 * self._next, self._longest)
        return wait * (1 - JITTER + 2 * JITTER * self._chance())

    def reset(self) -> None:
        self._next = self._first
