"""Plays the games of one task and has them reported: each whole batch, and where the server takes
parts of one, whatever pairs there are every half a minute."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

from rookery.boundary.offload import Threads
from rookery.worker.match.events import (
    Event,
    GameEnded,
    GameStarted,
    LatencyMeasured,
    PairEnded,
)
from rookery.worker.match.match import Match
from rookery.worker.session.assignment import Assignment
from rookery.worker.session.conversation import Progress
from rookery.worker.session.faults import TaskFailed
from rookery.worker.session.gamefile import GameFile, Mishaps
from rookery.worker.session.identity import Identity
from rookery.worker.session.ledger import Ledger
from rookery.worker.session.stopping import Stop, ended, first_of
from rookery.worker.session.supply import Supply, last_useful
from rookery.worker.session.watching import Status, Watcher


@dataclass(frozen=True, slots=True)
class Parts:
    """How long pairs wait for the rest of their batch before they are reported."""

    first_seconds: float = 10.0
    then_seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class Table:
    """What the games of a task are followed with."""

    task: Assignment
    slots: int
    batch: int
    whole: bool
    """Whether only whole batches can be reported."""
    pair_seconds: float
    """A first guess."""
    games: GameFile
    identity: Identity
    report: Callable[[Progress], object]
    tell: Callable[[str], object]
    lost: asyncio.Event
    stop: Stop
    threads: Threads
    watch: Watcher
    limit_seconds: float | None = None
    """After which a runner that watches no clocks of ours must have ended."""
    parts: Parts | None = None
    """None where only whole batches are reported."""


class Sitting:
    """One match of a task, followed to its end, to the server's word, or to the owner's."""

    def __init__(self, table: Table, ledger: Ledger, supply: Supply) -> None:
        self._table = table
        self._ledger = ledger
        self._supply = supply
        self._mishaps = Mishaps()
        self._began = monotonic()
        self._due: asyncio.TimerHandle | None = None
        self._is_due = False

    async def follow(self, match: Match) -> None:
        """Until there is nothing more to play, or somebody wants no more; raises TaskFailed."""
        lost, asked = self._table.lost, self._table.stop.asked
        self._show("starting the engines")
        if self._table.parts:
            self._wait_for_part(self._table.parts.first_seconds)
        async with match:
            playing = asyncio.create_task(self._take_all(match))
            try:
                await first_of(playing, lost, asked, seconds=self._table.limit_seconds)
                if not (playing.done() or lost.is_set() or asked.is_set()):
                    raise TaskFailed("The games took far longer than they may.")
                if asked.is_set() and not lost.is_set():
                    await self._wind_up(playing)
                if playing.done():
                    await playing
            finally:
                if self._due:
                    self._due.cancel()
                await ended(playing)

    async def _take_all(self, match: Match) -> None:
        async for event in match:
            await self._take(event)

    async def _take(self, event: Event) -> None:
        if isinstance(event, GameStarted):
            self._show("playing")
        elif isinstance(event, GameEnded):
            if said := self._mishaps.noted(event):
                self._table.tell(said)
            await self._table.threads.io(self._table.games.add, event)
        elif isinstance(event, PairEnded):
            told = self._ledger.add(event.pair)
            if told := told or (self._ledger.rest() if self._is_due else None):
                self._report(told)
            self._show("playing")
        elif isinstance(event, LatencyMeasured):
            self._table.identity.latency_ms = 1000 * event.latency.lag.quantile(0.99)

    def _report(self, told: Progress) -> None:
        self._table.report(told)
        if self._table.parts:
            self._wait_for_part(self._table.parts.then_seconds)

    def _wait_for_part(self, seconds: float) -> None:
        if self._due:
            self._due.cancel()
        self._is_due = False
        self._due = asyncio.get_running_loop().call_later(seconds, self._part_is_due)

    def _part_is_due(self) -> None:
        """Where no pair is there yet, the next one is reported at once."""
        self._is_due = True
        if told := self._ledger.rest():
            self._report(told)

    async def _wind_up(self, playing: "asyncio.Task[None]") -> None:
        """Asked to leave: what ends within the grace may end."""
        table, finished = self._table, self._ledger.finished
        in_time = int(table.stop.grace_seconds / self._pair_seconds()) * table.slots
        useful = last_useful(self._supply.given, finished, table.batch, in_time, whole=table.whole)
        self._supply.stop_at(max(useful, finished))
        if useful > finished:
            self._show("finishing the last games")
            grace = table.stop.grace_seconds
            await first_of(playing, table.stop.at_once, table.lost, seconds=grace)

    def _pair_seconds(self) -> float:
        finished = self._ledger.finished
        spent = monotonic() - self._began
        guess = self._table.pair_seconds
        return max(spent * self._table.slots / finished if finished else guess, 1e-3)

    def _show(self, doing: str) -> None:
        task = self._table.task
        self._table.watch.show(Status(doing, task.label, self._ledger.total, task.games))
