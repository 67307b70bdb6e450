"""Plays the games of a task and reports results: each whole batch and, if the server accepts parts,
the finished pairs every half a minute."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from time import monotonic
from typing import Protocol, Self

from rookery.core.boundary.offload import Threads
from rookery.core.model.task import NOTHING, Results
from rookery.core.protocol.worker_requests import SlotResult, SpsaResult
from rookery.match.job import (
    Event,
    GameEnded,
    GameStarted,
    LatencyMeasured,
    Match,
    PairEnded,
    PairJob,
    PairResult,
)
from rookery.worker.assignment import Assignment
from rookery.worker.engines.orders import TaskFailed
from rookery.worker.identity import WorkerIdentity
from rookery.worker.reporting import EngineFailures, GameFile
from rookery.worker.server import TaskProgress
from rookery.worker.stopping import Stop, Watcher, WorkerStatus, cancel_and_wait, wait_for_first

# Adds up pairs and determines what to report.
#
# Totals are absolute, so that a report can be repeated if its answer was lost.


class ResultCounter(Protocol):
    """Counts one match of a task. Only the follower of the match writes to it."""

    finished: int
    """The number of finished pairs of this match."""

    @property
    def total(self) -> Results:
        """The results of all games of the task, reported or not."""
        ...

    def add(self, pair: PairResult) -> TaskProgress | None:
        """Add a pair. Returns what to report now, if anything."""
        ...

    def rest(self) -> TaskProgress | None:
        """Return what can be reported before a batch is complete, if anything."""
        ...


class GameCounter:
    """Counts fixed games and sequential tests."""

    def __init__(self, before: Results, batch_pairs: int) -> None:
        self.finished = 0
        self._reported = before
        self._pending = NOTHING
        self._batch = batch_pairs

    @property
    def total(self) -> Results:
        return self._reported + self._pending

    def add(self, pair: PairResult) -> TaskProgress | None:
        self.finished += 1
        self._pending += pair.results
        return self.rest() if sum(self._pending.pentanomial) >= self._batch else None

    def rest(self) -> TaskProgress | None:
        """All pairs that were not reported yet, if there are any."""
        if self._pending == NOTHING:
            return None
        self._reported, self._pending = self.total, NOTHING
        return TaskProgress(self._reported)


class TuneCounter:
    """Counts one batch of a tune. Its pairs alternate between the perturbations, and only the whole
    batch counts."""

    def __init__(
        self,
        before: Results,
        pairs: int,
        signatures: Sequence[int],
        joint: int,
        *,
        is_rookery: bool,
    ) -> None:
        self.finished = 0
        self.told: TaskProgress | None = None
        self._before = before
        self._pairs = pairs
        self._slots = [NOTHING for _ in signatures]
        self._signatures = signatures
        self._joint = joint
        self._is_rookery = is_rookery

    @property
    def total(self) -> Results:
        return self._before + self._batch

    @property
    def _batch(self) -> Results:
        return sum(self._slots, NOTHING)

    def add(self, pair: PairResult) -> TaskProgress | None:
        self.finished += 1
        self._slots[pair.number % len(self._slots)] += pair.results
        if self.finished == self._pairs:
            self.told = TaskProgress(self.total, self._spsa())
        return self.told

    def rest(self) -> TaskProgress | None:
        """Return None, always: the values move by all pairs of a batch together."""
        return None

    def _spsa(self) -> SlotResult:
        whole = _slot(self._batch, self._joint)
        if not self._is_rookery:
            return whole
        return SpsaResult(
            num_games=whole.num_games,
            wins=whole.wins,
            losses=whole.losses,
            draws=whole.draws,
            sig=whole.sig,
            slots=tuple(map(_slot, self._slots, self._signatures)),
        )


def _slot(found: Results, signature: int) -> SlotResult:
    return SlotResult(
        num_games=found.games,
        wins=found.wins,
        losses=found.losses,
        draws=found.draws,
        sig=signature,
    )


class PairSupply:
    """Hands out pairs. The match takes them, and the follower of the match stops it."""

    def __init__(self, jobs: Iterator[PairJob]) -> None:
        self._jobs = jobs
        self._limit: int | None = None
        self.given = 0

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> PairJob:
        if self._limit is not None and self.given >= self._limit:
            raise StopIteration
        job = next(self._jobs)
        self.given += 1
        return job

    def stop_at(self, pairs: int) -> None:
        """Hand out no more than this many pairs in all."""
        self._limit = pairs


def count_useful_pairs(given: int, finished: int, batch: int, in_time: int, *, whole: bool) -> int:
    """How many pairs are worth playing when the worker is asked to leave.

    `in_time` more pairs can end within the grace period. If only whole batches count, pairs beyond
    the last batch that can be completed are not worth playing. Otherwise all pairs that were begun
    may end.
    """
    if not whole:
        return given
    reachable = (finished + in_time) // batch * batch
    return min(reachable, ceil(given / batch) * batch)


@dataclass(frozen=True, slots=True)
class PartialReports:
    """How long pairs wait for the rest of their batch before they are reported."""

    first_seconds: float = 10.0
    then_seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class MatchContext:
    """What the follower of a task's games needs."""

    task: Assignment
    slots: int
    batch: int
    whole: bool
    """Whether only whole batches can be reported."""
    pair_seconds: float
    """A first guess of the duration of a pair."""
    games: GameFile
    identity: WorkerIdentity
    report: Callable[[TaskProgress], object]
    tell: Callable[[str], object]
    lost: asyncio.Event
    stop: Stop
    threads: Threads
    watch: Watcher
    limit_seconds: float | None = None
    """The time limit for fastchess, which does not use the runner's clocks; None for the built-in
    runner."""
    parts: PartialReports | None = None
    """The intervals of partial reports; None if only whole batches are reported."""


class MatchFollower:
    """Follows one match of a task until it ends, or until the server or the owner stops it."""

    def __init__(self, context: MatchContext, counter: ResultCounter, supply: PairSupply) -> None:
        self._context = context
        self._counter = counter
        self._supply = supply
        self._mishaps = EngineFailures()
        self._began = monotonic()
        self._due: asyncio.TimerHandle | None = None
        self._is_due = False

    async def follow(self, match: Match) -> None:
        """Follow the match until there is nothing more to play or somebody stops it. Raises
        TaskFailed."""
        lost, asked = self._context.lost, self._context.stop.asked
        self._show("starting the engines")
        if self._context.parts:
            self._wait_for_part(self._context.parts.first_seconds)
        async with match:
            playing = asyncio.create_task(self._take_all(match))
            try:
                await wait_for_first(playing, lost, asked, seconds=self._context.limit_seconds)
                if not (playing.done() or lost.is_set() or asked.is_set()):
                    raise TaskFailed("The games took far longer than allowed.")
                if asked.is_set() and not lost.is_set():
                    await self._wind_up(playing)
                if playing.done():
                    await playing
            finally:
                if self._due:
                    self._due.cancel()
                await cancel_and_wait(playing)

    async def _take_all(self, match: Match) -> None:
        async for event in match:
            await self._take(event)

    async def _take(self, event: Event) -> None:
        if isinstance(event, GameStarted):
            self._show(self._doing)
        elif isinstance(event, GameEnded):
            if said := self._mishaps.noted(event):
                self._context.tell(said)
            await self._context.threads.io(self._context.games.add, event)
        elif isinstance(event, PairEnded):
            told = self._counter.add(event.pair)
            if told := told or (self._counter.rest() if self._is_due else None):
                self._report(told)
            self._show(self._doing)
        elif isinstance(event, LatencyMeasured):
            self._context.identity.latency_ms = 1000 * event.latency.lag.quantile(0.99)

    def _report(self, told: TaskProgress) -> None:
        self._context.report(told)
        if self._context.parts:
            self._wait_for_part(self._context.parts.then_seconds)

    def _wait_for_part(self, seconds: float) -> None:
        if self._due:
            self._due.cancel()
        self._is_due = False
        self._due = asyncio.get_running_loop().call_later(seconds, self._part_is_due)

    def _part_is_due(self) -> None:
        """Report the pairs so far. If there are none yet, the next one is reported at once."""
        self._is_due = True
        if told := self._counter.rest():
            self._report(told)

    async def _wind_up(self, playing: "asyncio.Task[None]") -> None:
        """Let games end that can end within the grace period, since the worker is asked to
        leave."""
        context, finished = self._context, self._counter.finished
        in_time = int(context.stop.grace_seconds / self._pair_seconds()) * context.slots
        useful = count_useful_pairs(
            self._supply.given, finished, context.batch, in_time, whole=context.whole
        )
        self._supply.stop_at(max(useful, finished))
        if useful > finished:
            self._show(self._doing)
            grace = context.stop.grace_seconds
            await wait_for_first(playing, context.stop.at_once, context.lost, seconds=grace)

    def _pair_seconds(self) -> float:
        finished = self._counter.finished
        spent = monotonic() - self._began
        guess = self._context.pair_seconds
        return max(spent * self._context.slots / finished if finished else guess, 1e-3)

    @property
    def _doing(self) -> str:
        return "finishing the last games" if self._context.stop.asked.is_set() else "playing"

    def _show(self, doing: str) -> None:
        task = self._context.task
        self._context.watch.show(WorkerStatus(doing, task.label, self._counter.total, task.games))
