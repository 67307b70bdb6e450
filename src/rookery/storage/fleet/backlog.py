"""Rows that nobody's answer waits for: they follow in slices, beside the group commits.

A run that has 100,000 tasks ends by its own row. That row says which of its tasks ended with it, so
theirs only catch up here; after a crash the next primary brings them up to date. What machines
have played and when tasks were last heard of may be lost without harm.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice

from rookery.core.changes import Closing
from rookery.core.task import TaskKey
from rookery.service.fleet.ports import Batch, Recalled


@dataclass(frozen=True, slots=True)
class Slice:
    """As much as goes in one transaction."""

    closed: tuple[TaskKey, ...] = ()
    seen: tuple[tuple[TaskKey, datetime], ...] = ()
    recalled: tuple[Recalled, ...] = ()

    def __len__(self) -> int:
        return len(self.closed) + len(self.seen) + len(self.recalled)


@dataclass(slots=True)
class Backlog:
    """Mutable, and used by the event loop alone."""

    _closing: deque[Iterator[TaskKey]] = field(default_factory=deque)
    _open: int = 0
    _seen: dict[TaskKey, datetime] = field(default_factory=dict)
    _recalled: dict[str, Recalled] = field(default_factory=dict)

    def __len__(self) -> int:
        return self._open + len(self._seen) + len(self._recalled)

    @property
    def closes(self) -> bool:
        """Whether rows say that tasks are active which are not."""
        return bool(self._open)

    def add(self, batch: Batch) -> None:
        for closing in batch.changes.closings:
            self._closing.append(_keys(closing))
            self._open += len(closing.tasks)
        self._seen.update(((each.run, each.task), each.at) for each in batch.seen)
        self._recalled.update((each.short_name, each) for each in batch.recalled)

    def take(self, most: int) -> Slice:
        """The next slice; closings go first."""
        closed = self._take_closed(most)
        most -= len(closed)
        seen = tuple(self._seen.popitem() for _ in range(min(most, len(self._seen))))
        most -= len(seen)
        names = range(min(most, len(self._recalled)))
        return Slice(closed, seen, tuple(self._recalled.popitem()[1] for _ in names))

    def _take_closed(self, most: int) -> tuple[TaskKey, ...]:
        if not self._closing:
            return ()
        closed = tuple(islice(self._closing[0], most))
        if len(closed) < most:
            self._closing.popleft()
        self._open -= len(closed)
        return closed


def _keys(closing: Closing) -> Iterator[TaskKey]:
    # One by one, since listing 100,000 of them would hold up the loop; and so would letting go of
    # them all at the end.
    rest = list(reversed(closing.tasks))
    run = closing.run
    return ((run, rest.pop().id) for _ in range(len(rest)))
