"""Hearing: when each task last gave a sign of life, ordered by that time.

Part of the working set, with the same single writer. Tasks that ended stay here until their time
is up; whoever asks for the silent ones checks which of them are still active.
"""

from collections import OrderedDict
from collections.abc import Iterator
from datetime import datetime, timedelta

from rookery.core.task import TaskKey


class Hearing:
    """The last sign of life of every active task."""

    def __init__(self) -> None:
        self._heard: OrderedDict[TaskKey, datetime] = OrderedDict()
        self._since: datetime | None = None

    def hear(self, key: TaskKey, now: datetime) -> None:
        """Note a sign of life."""
        self._heard[key] = now
        self._heard.move_to_end(key)

    def recover(self, now: datetime) -> None:
        """The server was deaf until now: silence so far counts against nobody."""
        self._since = now

    @property
    def deaf_until(self) -> datetime | None:
        """When the server could hear again after it could not, if ever."""
        return self._since

    def last(self, key: TaskKey) -> datetime | None:
        return self._heard.get(key)

    def is_silent(self, now: datetime, after: timedelta) -> bool:
        """Whether there is a task that was silent for longer than that, ended or not."""
        if self._since and now - self._since <= after:
            return False
        return bool(self._heard) and now - next(iter(self._heard.values())) > after

    def silent(self, now: datetime, after: timedelta) -> Iterator[TaskKey]:
        """Let go of the tasks that were silent for longer than that, the longest first."""
        while self.is_silent(now, after):
            yield self._heard.popitem(last=False)[0]
