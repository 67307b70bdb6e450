r"""The group commit: many changes share one transaction and one fsync, and then all waiters are
told.

    put --> gathering --the writer is free--> in flight --COMMIT--> committed
                 \--------any failure----------/ \--> lost, for good

Theory of operation. Code that changes the working set puts the changes here, and they join the
round that is gathering. A single task writes: it takes the oldest round when the previous one has
ended, so rounds grow with the load by themselves. It pauses between rounds (`round_pause`), because
each transaction has a fixed cost and a worker can wait some milliseconds. A failed round is never
retried. When a round fails, or its outcome is unknown, everything that waits is lost with it and no
more changes are accepted: the owner drops its memory, takes the fence anew, gets a new group
commit, and reads the rows.

Cancelling a waiter does not cancel its changes: they are committed all the same.

Rows that no answer waits for (`Backlog` in `writing`) are written by a second task, in separate
transactions that do not wait for an fsync; as part of a round they would delay every answer. A
slice that can't be written is dropped: its rows are for display only, or can be derived from the
run's row.
"""

import asyncio
from asyncio import Future
from collections import deque
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Protocol

from rookery.core.boundary.watch import Histogram
from rookery.core.errors import Busy, StateAway
from rookery.server.db.pool import COMMAND_SECONDS, EventLog, quiet
from rookery.server.db.target import pass_test_point
from rookery.server.farm.rules.answers import Changes
from rookery.server.farm.writing import Backlog, PendingRows, Slice


class QueueFull(Busy):
    """Too many changes wait for their commit; nothing was changed in memory."""


class StateLost(StateAway):
    """The commit failed or its outcome is unknown: no answer may be given from memory."""


@dataclass(frozen=True, slots=True)
class CommitStats:
    """The counters of a group commit, and what waits now."""

    rounds: int = 0
    changes: int = 0
    largest: int = 0
    seconds: Histogram = field(default_factory=Histogram)
    waiting: int = 0
    backlog: int = 0
    lost: bool = False


class CommitQueue(Protocol):
    """The group commit as its owner uses it. Each put gets a sequence number, and puts are
    committed in that order."""

    def check_capacity(self) -> None:
        """Raise StateLost once a commit has failed, and QueueFull when too many changes wait or the
        oldest has waited too long. Call this before changing memory, which has no rollback; the
        next put is then accepted, whatever its size."""
        ...

    def put(self, changes: Changes) -> int:
        """Add changes to the next commit and return their sequence number; raise StateLost once a
        commit has failed."""
        ...

    def committed(self, sequence: int) -> "Future[bool] | None":
        """Return a future that tells whether everything up to `sequence` was committed; None if it
        already is. Raise StateLost once a commit has failed."""
        ...

    async def wait_committed(self, sequence: int) -> None:
        """Wait until everything up to `sequence` is committed; raise StateLost if it is lost."""
        ...


class CommitListener(Protocol):
    """Receives the runs that each commit changed, e.g. to wake subscribers."""

    def begin(self, sequence: int) -> None:
        """Begin a new term of the primary after commit `sequence`."""
        ...

    def add(self, sequence: int, runs: Iterable[str]) -> None:
        """Note that the commit `sequence` changed these runs."""
        ...


@dataclass(frozen=True, slots=True)
class CommitLimits:
    """Limits on what may wait for a commit and on what one transaction writes."""

    changes: int = 20_000
    """The most changes that may wait for their commit; beyond it, new ones are refused."""
    seconds: float = 2.0
    """How long the oldest change may wait; beyond it, new ones are refused."""
    round_changes: int = 1_000
    """The most changes in one round; with more, answers would wait for rows of other callers."""
    round_pause: float = 0.012
    """The least pause between the end of one transaction and the start of the next. Callers that
    were answered by the first return one by one, and their next changes then share the second."""
    slice_rows: int = 100
    """Rows of the backlog in one transaction."""
    slice_pause: float = 0.005
    """The pause between two such transactions, so that they don't keep a processor busy."""
    gather_pause: float = 0.5
    """How long rows that are only for display are gathered before they are written."""


STANDARD_LIMITS = CommitLimits()


class Writes(Protocol):
    """Writes a round to the database, all of it or nothing."""

    async def write(self, gathered: PendingRows, sequence: int) -> None: ...

    async def follow(self, following: Slice) -> None:
        """Write rows that may be lost if the process crashes."""
        ...


@dataclass(slots=True)
class Round:
    """Changes that are committed together, and the futures that wait for them."""

    since: float
    last: int = 0
    gathered: PendingRows = field(default_factory=PendingRows)
    followed_by: list[Changes] = field(default_factory=list)
    """Changes with rows for the backlog; these must not be written before the end of their run is
    committed."""
    waiters: list["asyncio.Future[bool]"] = field(default_factory=list)

    def end(self, *, well: bool) -> None:
        for waiter in self.waiters:
            if not waiter.done():
                waiter.set_result(well)


class GroupCommit:
    """The group commit of one term (see the module's docstring). Used only on the event loop."""

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
        """The rounds, oldest first; the first is in flight while the writer writes it."""
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
        """Wait until everything that was put is written, at most `seconds`."""
        try:
            await asyncio.wait_for(self._idle.wait(), seconds)
        except TimeoutError:
            self._log("commits_not_flushed", waiting=self._waiting, backlog=len(self._backlog))

    def abandon(self, reason: str) -> None:
        """Fail all waiters, including those of the round in flight, whose outcome is then
        unknown."""
        self._lose(reason)

    async def end(self, reason: str) -> None:
        """Accept no more changes and let the round in flight finish; everything else that waits is
        lost."""
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
        """Return the round that new changes join: the last one, unless it is in flight or full."""
        taken = len(self._rounds) - self._in_flight
        if not taken or self._rounds[-1].gathered.changes >= self._limits.round_changes:
            self._rounds.append(Round(self._loop.time()))
        return self._rounds[-1]

    def _round_of(self, sequence: int) -> Round:
        rounds = self._rounds
        if len(rounds) == 1 or sequence > rounds[-2].last:
            return rounds[-1]  # as for nearly every call, which has just put something
        return next(each for each in rounds if sequence <= each.last)

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
            # However the writer ends, its waiters must be released.
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
                # Rows for display are gathered for a while, because each transaction has a fixed
                # cost.
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
