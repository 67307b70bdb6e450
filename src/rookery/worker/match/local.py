"""A match played on this process's own loop: what a shard is, and what small matches need."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from dataclasses import replace
from time import monotonic, thread_time

from rookery.boundary.offload import Threads
from rookery.worker.match.events import Event, LatencyMeasured, PairEnded
from rookery.worker.match.feed import FedMatch
from rookery.worker.match.game import Table
from rookery.worker.match.job import PairJob, Setup
from rookery.worker.match.latency import Latency, probed
from rookery.worker.match.slot import Slot
from rookery.worker.match.syzygy import open_tables, probe_of

TOLD_SECONDS = 5.0
"""Between two reports of the latency, beside the first pair's and the last."""


class LocalMatch(FedMatch):
    """Takes jobs as slots become free, until there are none left or it is ended."""

    def __init__(
        self,
        jobs: Iterable[PairJob] | AsyncIterator[PairJob],
        setup: Setup,
        *,
        concurrency: int = 1,
    ) -> None:
        super().__init__()
        self._jobs = jobs if isinstance(jobs, AsyncIterator) else listed(jobs)
        self._setup = setup
        self._concurrency = concurrency
        self._latency = Latency.fresh()
        self._next_report = 0.0

    async def _play(self) -> None:
        self._began, threads = thread_time(), Threads()
        tables = await threads.io(open_tables, self._setup.syzygy)
        probe = probe_of(tables) if self._setup.syzygy else None
        try:
            async with probed(self._latency):
                await self._play_slots(Table(self._setup, self._latency, probe), threads)
        finally:
            tables.close()
        self._tell_latency(last=True)

    async def _play_slots(self, table: Table, threads: Threads) -> None:
        slots = [
            Slot(number, table, threads, self._tell_both) for number in range(self._concurrency)
        ]
        working = [asyncio.create_task(self._work(slot)) for slot in slots]
        try:
            await asyncio.gather(*working)
        finally:
            await _close(working, slots)

    async def _work(self, slot: Slot) -> None:
        while (job := await anext(self._jobs, None)) is not None:
            await slot.play(job)
        await slot.close()

    def _tell_both(self, event: Event) -> None:
        """The latency goes before the pair: who reports the pair can say how it was played."""
        if isinstance(event, PairEnded) and monotonic() >= self._next_report:
            self._tell_latency()
        self._tell(event)

    def _tell_latency(self, *, last: bool = False) -> None:
        self._next_report = monotonic() + TOLD_SECONDS
        self._latency.cpu_seconds = thread_time() - self._began
        self._tell(LatencyMeasured(replace(self._latency), last))


async def listed(jobs: Iterable[PairJob]) -> AsyncIterator[PairJob]:
    """Jobs that need no waiting for; each is made when a slot asks for it."""
    for job in jobs:
        yield job


async def _close(working: list[asyncio.Task[None]], slots: list[Slot]) -> None:
    for task in working:
        task.cancel()
    await asyncio.gather(*working, return_exceptions=True)
    await asyncio.gather(*(slot.close(politely=False) for slot in slots))
