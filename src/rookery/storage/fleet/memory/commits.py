"""The group commit of the in-memory twin.

A commit takes one turn of the loop. A test may hold commits back, let them go on, or lose them as
a database would that broke during one.
"""

import asyncio
from collections.abc import Callable, Collection

from rookery.service.fleet.ports import Batch, Hears, QueueFull, StateLost
from rookery.storage.fleet.memory.rows import MemoryRows

MOST_CHANGES = 20_000


class MemoryCommits:
    """The group commit; see the module's text for what a test may do with it."""

    def __init__(
        self,
        rows: MemoryRows,
        *,
        most_changes: int = MOST_CHANGES,
        lost: Callable[[str], object] = lambda _reason: None,
        hears: Collection[Hears] = (),
    ) -> None:
        self._rows = rows
        self._hears = hears
        self._most_changes = most_changes
        self._lost = lost
        self._queue: list[Batch] = []
        self._issued = self._committed = rows.sequence
        self._broken = False
        self._going = asyncio.Event()
        self._going.set()

    def check_room(self) -> None:
        if self._broken:
            raise StateLost
        if len(self._queue) >= self._most_changes:
            raise QueueFull

    def put(self, batch: Batch) -> int:
        self.check_room()
        self._queue.append(batch)
        self._issued += 1
        return self._issued

    async def committed(self, sequence: int) -> None:
        assert sequence <= self._issued
        while sequence > self._committed:
            if self._broken:
                raise StateLost
            await asyncio.sleep(0)
            await self._going.wait()
            self._flush()

    def hold(self) -> None:
        """From now on nothing is committed."""
        self._going.clear()

    def release(self) -> None:
        self._flush()
        self._going.set()

    def lose(self, reason: str = "lost on purpose") -> None:
        """The commit under way fails: all that waits is lost."""
        self._queue.clear()
        self._broken = True
        self._going.set()
        self._lost(reason)

    def _flush(self) -> None:
        for batch in self._queue:
            changed = self._rows.write(batch)
            for hearer in self._hears:
                hearer.add(self._rows.sequence, changed)
        self._queue.clear()
        if not self._broken:
            self._committed = self._issued
