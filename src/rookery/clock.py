"""The one place that reads the clock; everything else is given the time."""

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
