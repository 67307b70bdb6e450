"""The event bus: tells subscribers, after each commit, which runs have changed.

    commit --add--> what changed last --a few times a second--> subscribers
    a gap ---miss--> rows are asked --^

Theory of operation. For each recently changed run the bus keeps the number of the commit that
changed it last. There are no queues: a subscriber is a position in this list. A slow or returning
subscriber therefore costs nothing, is told of each run once however often it changed, and when it
is too far behind it is told to read everything again. In the primary the group commit feeds the
bus; other processes hear of commits through the database. When a notice may have been missed, the
bus reads from the rows which runs have changed, and until then no subscriber moves beyond the gap.
A subscriber may return with the number of a commit that only another process, usually one that
died, has announced.
"""

import asyncio
import contextlib
from collections import OrderedDict, defaultdict
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from typing import Protocol

from rookery.server.farm.read_values import ChangedRuns
from rookery.server.farm.reads import FleetReads
from rookery.server.logs import Log, SilentLog

# Subscribers that wait for runs to change are woken soon after a change, not too often, and a few
# at a time.

PAUSE_SECONDS = 0.25
LONG_PAUSE_SECONDS = 1.0
"""The pause for subscribers to all runs, for whom every round may concern every run being
played."""
WOKEN_AT_ONCE = 20
WAKING_SECONDS = 0.003


class BusReader(Protocol):
    """A subscriber that waits to be woken."""

    def wake(self) -> None: ...


class SpacedCalls:
    """Calls a function soon after it is requested, but not too often."""

    def __init__(self, seconds: float, act: Callable[[set[str]], None]) -> None:
        self._seconds = seconds
        self._act = act
        self._runs: set[str] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._next = 0.0
        self.times = 0

    def soon(self, runs: Iterable[str]) -> None:
        """Request a call for these runs; requests before it are combined."""
        self._runs.update(runs)
        if self._runs and self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_at(max(loop.time(), self._next), self._go)

    def cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _go(self) -> None:
        self._timer = None
        self._next = asyncio.get_running_loop().time() + self._seconds
        self.times += 1
        runs, self._runs = self._runs, set()
        self._act(runs)


class Readers:
    """The subscribers of a bus by what they watch. Used only on the event loop."""

    def __init__(self) -> None:
        self._of_all: set[BusReader] = set()
        self._of_one: defaultdict[str, set[BusReader]] = defaultdict(set)
        self._spaced = (
            SpacedCalls(PAUSE_SECONDS, self._wake_those_of),
            SpacedCalls(LONG_PAUSE_SECONDS, self._wake_those_of_all),
        )

    def __len__(self) -> int:
        return len(self._of_all) + sum(map(len, self._of_one.values()))

    @property
    def rounds(self) -> int:
        """How often subscribers to single runs were woken."""
        return self._spaced[0].times

    @contextmanager
    def waiting(self, reader: BusReader, run: str) -> Iterator[None]:
        """Register a reader for the length of the block, for one run, or for all if `run` is
        empty."""
        place = self._of_one[run] if run else self._of_all
        place.add(reader)
        try:
            yield
        finally:
            place.discard(reader)
            if run and not place:
                self._of_one.pop(run, None)

    def wake_soon(self, runs: Collection[str]) -> None:
        for each in self._spaced:
            each.soon(runs)

    def cancel(self) -> None:
        for each in self._spaced:
            each.cancel()

    def _wake_those_of_all(self, _runs: set[str]) -> None:
        self._wake(iter(tuple(self._of_all)))

    def _wake_those_of(self, runs: set[str]) -> None:
        watched = runs & self._of_one.keys()
        self._wake(iter(tuple(chain.from_iterable(self._of_one[run] for run in watched))))

    def _wake(self, readers: Iterator[BusReader]) -> None:
        """Wake readers in batches, because a thousand at once would hold the loop for a tenth of a
        second. By the time the second batch wakes, the first has usually had the event encoded for
        all."""
        some = tuple(islice(readers, WOKEN_AT_ONCE))
        for reader in some:
            reader.wake()
        if len(some) == WOKEN_AT_ONCE:
            asyncio.get_running_loop().call_later(WAKING_SECONDS, self._wake, readers)


MOST_KEPT = 2_000
"""How many runs the bus remembers; a subscriber further behind must read everything again."""
RETRY_SECONDS = 1.0
FROM_THE_START = -1


@dataclass(frozen=True, slots=True)
class Wanted:
    """The run that a subscriber asks about; all runs if empty."""

    run: str = ""


EVERY_RUN = Wanted()


@dataclass(frozen=True, slots=True)
class Notice:
    """The runs that changed up to commit `sequence`; `missed` if there may be more."""

    sequence: int
    runs: frozenset[str]
    missed: bool = False


@dataclass(frozen=True, slots=True)
class BusStats:
    """The bus's counters and its present number of subscribers."""

    sequence: int
    subscribers: int
    rounds: int
    gaps: int
    behind: bool


class Subscription:
    """A subscriber's position; iterating yields a notice as soon as something changed since."""

    def __init__(self, bus: "Bus", wanted: Wanted, position: int) -> None:
        self.position = position
        self._bus = bus
        self._wanted = wanted
        self._woken = asyncio.Event()
        self._woken.set()

    def wake(self) -> None:
        self._woken.set()

    def put_back(self, position: int) -> None:
        """Go back to an earlier position, because what was read since could not be used."""
        self.position = position
        self._woken.set()

    def __aiter__(self) -> "Subscription":
        return self

    async def __anext__(self) -> Notice:
        while True:
            await self._woken.wait()
            self._woken.clear()
            notice = self._bus.since(self.position, self._wanted)
            if notice.runs or notice.missed:
                self.position = notice.sequence
                return notice


class Bus:
    """The event bus of a process. Used only on the event loop."""

    def __init__(
        self,
        reads: FleetReads,
        log: Log | None = None,
        *,
        kept: int = MOST_KEPT,
        retry_seconds: float = RETRY_SECONDS,
    ) -> None:
        self._reads = reads
        self._log = log or SilentLog()
        self._most = kept
        self._retry_seconds = retry_seconds
        self._latest: OrderedDict[str, int] = OrderedDict()
        """The last commit that changed each run, in ascending order."""
        self._floor = 0
        """The commit since which the list is complete."""
        self._known = 0
        """The commit up to which no change was missed."""
        self._seen = 0
        self._missed = asyncio.Event()
        self._missed.set()
        self._caught_up = asyncio.Event()
        self._readers = Readers()
        self._gaps = 0

    def begin(self, sequence: int) -> None:
        """Start a new term after commit `sequence`; notices of commits up to it may have been
        missed."""
        if sequence > self._seen:
            self.miss()

    def add(self, sequence: int, runs: Iterable[str]) -> None:
        """Add a commit that changed these runs."""
        changed = set(runs)
        for run in changed:
            self._latest[run] = sequence
            self._latest.move_to_end(run)
        self._trim()
        self._seen = max(self._seen, sequence)
        if self._caught_up.is_set():
            self._known = self._seen
        self._readers.wake_soon(changed)

    def hear(self, after: int, sequence: int, runs: Collection[str] | None) -> None:
        """Take a notice of another process: its commits after `after`, up to `sequence`."""
        if sequence <= self._seen:
            return
        if runs is None or after > self._seen:
            self.miss()
        else:
            self.add(sequence, runs)

    def miss(self) -> None:
        """Note that a notice may have been missed, so that the rows are read."""
        self._caught_up.clear()
        self._missed.set()

    async def reach(self, sequence: int, *, seconds: float) -> None:
        """Wait, at most `seconds`, until the bus has heard of commit `sequence`, which another
        process told the reader of; if necessary it reads the rows first."""
        if sequence <= self._seen:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                # Don't start over while the rows are being read: readers that invent numbers could
                # keep all others from catching up.
                await self._caught_up.wait()
                if sequence > self._seen:
                    self.miss()
                    await self._caught_up.wait()

    @property
    def sequence(self) -> int:
        """The last commit up to which no change was missed."""
        return self._known

    @property
    def seen(self) -> int:
        """The last commit that the bus has heard of."""
        return self._seen

    def last_change(self, run: str) -> int:
        """Return the last commit that can have changed a run, as far as the bus has heard."""
        return self._latest.get(run, self._floor)

    def since(self, position: int, wanted: Wanted = EVERY_RUN) -> Notice:
        if wanted.run:
            changed = self.last_change(wanted.run) > position
            return Notice(self._known, frozenset({wanted.run} if changed else ()))
        return Notice(self._known, frozenset(self._after(position)), position < self._floor)

    @contextmanager
    def subscribe(
        self, wanted: Wanted = EVERY_RUN, after: int | None = None
    ) -> Iterator[Subscription]:
        """Subscribe from commit `after` on, or from now on if it is None; a number from the future
        stands for the start."""
        position = self._known if after is None else after
        subscription = Subscription(
            self, wanted, position if position <= self._seen else FROM_THE_START
        )
        with self._readers.waiting(subscription, wanted.run):
            yield subscription

    @asynccontextmanager
    async def opened(self) -> AsyncIterator["Bus"]:
        """Run the bus for the length of the block: read the rows at the start and whenever a notice
        may have been missed."""
        working = asyncio.create_task(self._catch_up(), name="event bus")
        try:
            yield self
        finally:
            working.cancel()
            await asyncio.wait([working])
            self._readers.cancel()

    def stats(self) -> BusStats:
        readers = self._readers
        behind = not self._caught_up.is_set()
        return BusStats(self._known, len(readers), readers.rounds, self._gaps, behind)

    def _after(self, position: int) -> Iterator[str]:
        for run, sequence in reversed(self._latest.items()):
            if sequence <= position:
                return
            yield run

    async def _catch_up(self) -> None:
        while True:
            await self._missed.wait()
            self._missed.clear()
            try:
                found = await self._reads.changed(self._known, self._most)
            except Exception as error:  # noqa: BLE001 - whatever it is, the next attempt may do
                self._log.warning("events_not_caught_up", why=repr(error))
                self._missed.set()
                await asyncio.sleep(self._retry_seconds)
            else:
                self._merge(found)

    def _merge(self, found: ChangedRuns) -> None:
        both = {**found.runs, **{k: v for k, v in self._latest.items() if v > found.runs.get(k, 0)}}
        self._latest = OrderedDict(sorted(both.items(), key=lambda pair: pair[1]))
        if not found.complete:
            self._floor = max(self._floor, min(found.runs.values(), default=found.sequence))
        self._trim()
        self._gaps += 1
        self._seen = max(self._seen, found.sequence)
        if not self._missed.is_set():
            self._known = self._seen
            self._caught_up.set()
        self._readers.wake_soon(found.runs)

    def _trim(self) -> None:
        while len(self._latest) > self._most:
            _, oldest = self._latest.popitem(last=False)
            self._floor = max(self._floor, oldest)
