"""The one module that reads the clock or draws random numbers; all other code is given both."""

import secrets
import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """The time, for code that gets a fake clock in tests."""

    def now(self) -> datetime: ...

    def seconds(self) -> float:
        """Seconds on a clock that never goes back and counts while the machine sleeps."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def seconds(self) -> float:
        return time.clock_gettime(time.CLOCK_BOOTTIME)


# Random numbers for the use cases; those of tunes come only from here.

_BITS = 53  # of a float's fraction


class Chance(Protocol):
    def flips(self, size: int) -> bytes:
        """`size` random bytes."""
        ...

    def numbers(self, count: int) -> tuple[float, ...]:
        """`count` random numbers in [0, 1)."""
        ...


class SystemChance:
    """The operating system's random number generator."""

    def flips(self, size: int) -> bytes:
        return secrets.token_bytes(size)

    def numbers(self, count: int) -> tuple[float, ...]:
        return tuple(secrets.randbits(_BITS) / (1 << _BITS) for _ in range(count))
