"""Tells every process after a commit which runs have changed: coalesced, at most four times a
second. Who misses one catches up by the sequence number."""

import asyncio
from collections.abc import Iterable

import msgspec

from rookery.service.events import Bus
from rookery.storage.log import Log, quiet
from rookery.storage.pool import AWAY, Pool
from rookery.storage.queries import Queries

PAUSE_SECONDS = 0.25
MOST_NAMED = 250
"""A notice holds 8,000 bytes at most; beyond this many runs it names none and means any."""


class Notice(msgspec.Struct, frozen=True):
    """What listeners are sent: commits after one, up to another, and the runs they changed. Who
    has not heard of the first has missed something; without `runs`, any may have changed."""

    after: int
    sequence: int
    runs: tuple[str, ...] | None = None


def pass_on(text: str, bus: Bus) -> None:
    """What was heard; a notice that can't be read is one that was missed."""
    try:
        notice = msgspec.json.decode(text, type=Notice)
    except msgspec.MsgspecError:
        bus.miss()
    else:
        bus.hear(notice.after, notice.sequence, notice.runs)


class Notices:
    """Collects what was committed, and sends it from a task of its own."""

    def __init__(self, pool: Pool, queries: Queries, *, log: Log = quiet) -> None:
        self._pool = pool
        self._queries = queries
        self._log = log
        self._runs: set[str] = set()
        self._told = 0
        self._sequence = 0
        self._due = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def begin(self, sequence: int) -> None:
        """Of commits before this one, listeners may not have been told."""
        self._told = self._sequence = max(self._sequence, sequence)

    def add(self, sequence: int, runs: Iterable[str]) -> None:
        self._sequence = max(self._sequence, sequence)
        self._runs.update(runs)
        self._due.set()

    def start(self) -> None:
        """Sends from now on; once is enough."""
        if self._task is None:
            self._task = asyncio.create_task(self._send(), name="fleet notices")

    async def stop(self) -> None:
        """Sends what is due, and ends."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            self._task = None
        if self._due.is_set():
            await self._tell(self._taken())

    async def _send(self) -> None:
        while True:
            await self._due.wait()
            await self._tell(self._taken())
            await asyncio.sleep(PAUSE_SECONDS)

    def _taken(self) -> Notice:
        self._due.clear()
        runs, self._runs = self._runs, set()
        named = tuple(sorted(runs)) if len(runs) <= MOST_NAMED else None
        return Notice(self._told, self._sequence, named)

    async def _tell(self, notice: Notice) -> None:
        # Also when it fails: the next notice then shows that one is missing.
        self._told = notice.sequence
        try:
            text = msgspec.json.encode(notice).decode()
            await self._pool.execute(self._queries["commits_tell"], text)
        except AWAY as error:
            self._log("notice_not_sent", sequence=notice.sequence, reason=repr(error))
