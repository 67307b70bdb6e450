r"""The group commit: many changes, one transaction, one fsync, and then all who wait are told.

    put --> gathering --the writer is free--> in flight --COMMIT--> committed
                 \--------any failure----------/ \--> lost, for good

Theory of operation. Whoever changed the working set puts the rows, which join the round that is
gathering. One task writes: it takes the oldest round as soon as the last one ended, so that rounds
grow with the load by themselves; but it begins few rounds a second, since each has its price and a
worker can wait some milliseconds. There is no second attempt. When a round fails or nobody knows
whether it was committed, all that waits is lost with it and nothing more is taken: the owner drops
what it has in memory, takes the fence anew and with it a new group commit, and reads the rows.

A waiter that is cancelled leaves; what it put is committed without it.

Rows that nobody's answer waits for (see `backlog`) are written by a second task, in transactions
of their own and without an fsync: beside a round they would make everybody's answer wait. A slice
that can't be written is dropped, since its rows are for display, or are told by their run's row.
"""

import asyncio
from asyncio import Future
from collections import deque
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Protocol

from rookery.boundary.watch import Histogram
from rookery.db.pool import COMMAND_SECONDS, EventLog, quiet
from rookery.db.target import pass_test_point
from rookery.farm.writing import Backlog, PendingRows, Slice
from rookery.rules.answers import Changes


class QueueFull(Exception):
    """Too many changes wait for their commit; nothing was changed in memory."""


class StateLost(Exception):
    """The commit failed or its outcome is unknown: no answer may be given from memory."""


@dataclass(frozen=True, slots=True)
class CommitStats:
    """What the group commit has done so far, and what waits now."""

    rounds: int = 0
    changes: int = 0
    largest: int = 0
    seconds: Histogram = field(default_factory=Histogram)
    waiting: int = 0
    backlog: int = 0
    lost: bool = False


class CommitQueue(Protocol):
    """The group commit. Each put has a sequence number; puts are committed in that order."""

    def check_capacity(self) -> None:
        """Raises StateLost once a commit has failed, and QueueFull beyond the bound of changes or
        of age. There is no rollback in memory, so this is asked before anything is changed there;
        the very next put is then taken, whatever its size."""
        ...

    def put(self, changes: Changes) -> int:
        """Joins the next commit; raises StateLost once a commit has failed."""
        ...

    def committed(self, sequence: int) -> "Future[bool] | None":
        """Whether everything up to there is committed, once that is known; None where it is by
        now. Raises StateLost once a commit has failed."""
        ...

    async def wait_committed(self, sequence: int) -> None:
        """Returns once everything up to there is committed; raises StateLost when it is not."""
        ...


class CommitListener(Protocol):
    """Is told after each commit which runs it changed, e.g. to wake subscribers."""

    def begin(self, sequence: int) -> None:
        """A new term of the primary begins after this commit."""
        ...

    def add(self, sequence: int, runs: Iterable[str]) -> None:
        """The commit `sequence` changed these runs."""
        ...


@dataclass(frozen=True, slots=True)
class CommitLimits:
    """How much may wait, and how much goes at once."""

    changes: int = 20_000
    """Changes that wait for their commit before no more are taken."""
    seconds: float = 2.0
    """How long the oldest of them may wait before no more are taken."""
    round_changes: int = 1_000
    """Changes of one transaction: beyond, answers would wait for their neighbours' rows."""
    round_pause: float = 0.012
    """Seconds from the end of one transaction to the beginning of the next, at least: those who
    were told of the first come back one by one, and go together with the second."""
    slice_rows: int = 100
    """Rows of the backlog that go with one transaction."""
    slice_pause: float = 0.005
    """Seconds between two of these, so that they do not keep a processor busy."""
    gather_pause: float = 0.5
    """Seconds for which rows that are only shown gather before they are written."""


STANDARD_LIMITS = CommitLimits()


class Writes(Protocol):
    """What puts a round into rows: all of it or nothing."""

    async def write(self, gathered: PendingRows, sequence: int) -> None: ...

    async def follow(self, following: Slice) -> None:
        """Rows that may be lost with the process."""
        ...


@dataclass(slots=True)
class Round:
    """Changes that are committed together, and those who wait for it."""

    since: float
    last: int = 0
    gathered: PendingRows = field(default_factory=PendingRows)
    followed_by: list[Changes] = field(default_factory=list)
    """What has rows for the backlog; they may not be written before the run that ended."""
    waiters: list["asyncio.Future[bool]"] = field(default_factory=list)

    def end(self, *, well: bool) -> None:
        for waiter in self.waiters:
            if not waiter.done():
                waiter.set_result(well)


class GroupCommit:
    """One per term: see the module's text. Used on the loop alone."""

    def __init__(
        self,
        writer: Writes,
        listeners: Collection[CommitListener],
        *,
        sequence: int = 0,
        limits: CommitLimits = STANDARD_LIMITS,
        lost: Callable[[str], object] = lambda _reason: None,
        log: EventLog = quiet,
    ) -> None:
        self._writer = writer
        self._listeners = listeners
        self._limits = limits
        self._lost = lost
        self._log = log
        self._loop = asyncio.get_running_loop()
        self._issued = sequence
        self._committed = sequence
        self._waiting = 0
        self._rounds: deque[Round] = deque()
        """Oldest first; the first one is in flight while the writer writes."""
        self._in_flight = False
        self._next_round = 0.0
        self._backlog = Backlog()
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._is_lost = False
        self._ending = False
        self._stats = CommitStats()
        self._follows = asyncio.Event()
        self._following = False
        self._task = asyncio.create_task(self._work(), name="group commit")
        self._follower = asyncio.create_task(self._follow(), name="group commit's backlog")

    def check_capacity(self) -> None:
        if self._ending:
            raise StateLost
        if self._waiting >= self._limits.changes:
            raise QueueFull
        if self._rounds and self._loop.time() - self._rounds[0].since > self._limits.seconds:
            raise QueueFull

    def put(self, changes: Changes) -> int:
        if self._ending:
            raise StateLost
        self._issued += 1
        gathering = self._gathering()
        before = gathering.gathered.changes
        gathering.gathered.add(changes)
        gathering.last = self._issued
        self._waiting += gathering.gathered.changes - before
        if changes.closings or changes.seen or changes.recalled:
            gathering.followed_by.append(changes)
        self._idle.clear()
        self._wake.set()
        return self._issued

    def committed(self, sequence: int) -> asyncio.Future[bool] | None:
        if sequence <= self._committed:
            return None
        if self._is_lost:
            raise StateLost
        assert sequence <= self._issued
        waiter: asyncio.Future[bool] = self._loop.create_future()
        self._round_of(sequence).waiters.append(waiter)
        return waiter

    async def wait_committed(self, sequence: int) -> None:
        waiter = self.committed(sequence)
        if waiter is not None and not await waiter:
            raise StateLost

    def stats(self) -> CommitStats:
        done = self._stats
        return CommitStats(
            done.rounds,
            done.changes,
            done.largest,
            done.seconds,
            self._waiting,
            len(self._backlog),
            self._is_lost,
        )

    async def flush(self, seconds: float) -> None:
        """Waits until all that was put is written, but not for longer than that."""
        try:
            await asyncio.wait_for(self._idle.wait(), seconds)
        except TimeoutError:
            self._log("commits_not_flushed", waiting=self._waiting, backlog=len(self._backlog))

    def abandon(self, reason: str) -> None:
        """Tells all who wait that nobody knows what becomes of it, also of what is in flight."""
        self._lose(reason)

    async def end(self, reason: str) -> None:
        """Takes nothing more and lets the round in flight end; all else that waits is lost."""
        self._ending = True
        self._wake.set()
        self._follows.set()
        both = [self._task, self._follower]
        await asyncio.wait(both, timeout=COMMAND_SECONDS)
        for task in both:
            task.cancel()
        await asyncio.wait(both)
        self._lose(reason)

    def _gathering(self) -> Round:
        """The round that takes what is put now: the last one, unless it is in flight or full."""
        taken = len(self._rounds) - self._in_flight
        if not taken or self._rounds[-1].gathered.changes >= self._limits.round_changes:
            self._rounds.append(Round(self._loop.time()))
        return self._rounds[-1]

    def _round_of(self, sequence: int) -> Round:
        return next(each for each in self._rounds if sequence <= each.last)

    async def _work(self) -> None:
        try:
            while not self._ending:
                await self._wake.wait()
                self._wake.clear()
                while self._rounds and not self._ending:
                    await asyncio.sleep(self._next_round - self._loop.time())
                    await self._commit()
                self._rest()
        finally:
            # However the writer ends, nobody may wait for it.
            self._lose("the writer has ended")

    def _rest(self) -> None:
        if not self._rounds and not self._backlog and not self._following:
            self._idle.set()

    async def _follow(self) -> None:
        while not self._ending:
            await self._follows.wait()
            self._follows.clear()
            self._following = True
            if not self._backlog.closes:
                # What is for display alone gathers for a while: a transaction has its price.
                await asyncio.sleep(self._limits.gather_pause)
            while self._backlog and not self._ending:
                await self._write_slice(self._backlog.take(self._limits.slice_rows))
                await asyncio.sleep(self._limits.slice_pause)
            self._following = False
            self._rest()

    async def _write_slice(self, following: Slice) -> None:
        try:
            await self._writer.follow(following)
        except Exception as error:  # noqa: BLE001 whatever it was, nobody waits for it
            self._log("backlog_dropped", rows=len(following), reason=repr(error))

    async def _commit(self) -> None:
        started = self._loop.time()
        self._in_flight = True
        round_ = self._rounds[0]
        pass_test_point("round_taken")
        try:
            await self._writer.write(round_.gathered, round_.last)
        except Exception as error:  # noqa: BLE001 whatever it was, the outcome is not to be trusted
            self._lose(repr(error))
        else:
            if not self._is_lost:
                self._end_well(round_, self._loop.time() - started)

    def _end_well(self, round_: Round, seconds: float) -> None:
        size = round_.gathered.changes
        self._rounds.popleft()
        self._in_flight = False
        self._next_round = self._loop.time() + self._limits.round_pause
        self._committed = round_.last
        self._waiting -= size
        for changes in round_.followed_by:
            self._backlog.add(changes)
        if round_.followed_by:
            self._follows.set()
        done = self._stats
        self._stats = CommitStats(
            done.rounds + 1,
            done.changes + size,
            max(done.largest, size),
            done.seconds.with_one(seconds),
        )
        round_.end(well=True)
        if size:
            for listener in self._listeners:
                listener.add(round_.last, round_.gathered.touched())

    def _lose(self, reason: str) -> None:
        if self._is_lost:
            return
        in_order = self._ending and not self._waiting
        self._is_lost = self._ending = True
        waiting, self._waiting = self._waiting, 0
        for round_ in self._rounds:
            round_.end(well=False)
        self._rounds.clear()
        self._backlog = Backlog()
        self._follows.set()
        self._idle.set()
        self._log("commits_ended" if in_order else "state_lost", reason=reason, waiting=waiting)
        self._lost(reason)
