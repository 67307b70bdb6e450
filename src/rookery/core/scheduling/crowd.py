"""What each user or address has at play, in tasks or cores, so that a run's end is a single step.

Theory of operation. A run may end with a hundred thousand tasks, and counting them off one by one
would hold up everybody else. So tasks are counted by sitting: the time from a run's first task to
its end. A run that ends marks its sitting as over, and whoever is asked about next drops what is
over; that is looked for only where some run has ended since the last time.

A part of the roster, with the same single writer.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

HOUR = timedelta(hours=1)


@dataclass(slots=True, eq=False)
class Sitting:
    """A run from its first task to its end; one that is taken up again has another."""

    over: bool = False


@dataclass(slots=True)
class _Count:
    """What one has at play, as it was when so many runs had ended."""

    ends: int
    total: int = 0
    by_sitting: dict[Sitting, int] = field(default_factory=dict)

    def change(self, sitting: Sitting, by: int) -> None:
        self.total += by
        left = self.by_sitting.get(sitting, 0) + by
        if left:
            self.by_sitting[sitting] = left
        else:
            del self.by_sitting[sitting]

    def drop_over(self, ends: int) -> None:
        for sitting in [sitting for sitting in self.by_sitting if sitting.over]:
            self.total -= self.by_sitting.pop(sitting)
        self.ends = ends


class HourlyCounts:
    """Counts by name, each of which begins anew an hour after its first."""

    def __init__(self) -> None:
        self._counts: dict[str, tuple[datetime, int]] = {}

    def add(self, name: str, by: int, now: datetime) -> int:
        """Returns the count with what was added."""
        since, before = self._counts.get(name, (now, 0))
        if now - since > HOUR:
            since, before = now, 0
        self._counts[name] = (since, before + by)
        return before + by

    def of(self, name: str, now: datetime) -> int:
        since, count = self._counts.get(name, (now, 0))
        return count if now - since <= HOUR else 0


class Crowd:
    """Counts by name; a name without tasks is forgotten."""

    def __init__(self) -> None:
        self._counts: dict[str, _Count] = {}
        self._ends = 0

    def enter(self, name: str, sitting: Sitting, by: int = 1) -> None:
        count = self._counts.get(name)
        if count is None:
            count = self._counts[name] = _Count(self._ends)
        count.change(sitting, by)

    def leave(self, name: str, sitting: Sitting, by: int = 1) -> None:
        count = self._counts[name]
        count.change(sitting, -by)
        if not count.total:
            del self._counts[name]

    def end(self) -> None:
        """Some sitting is over."""
        self._ends += 1

    def of(self, name: str) -> int:
        count = self._counts.get(name)
        if count is None:
            return 0
        if count.ends != self._ends:
            count.drop_over(self._ends)
            if not count.total:
                del self._counts[name]
        return count.total
