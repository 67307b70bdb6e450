"""A match played on this process's own loop: what a shard is, and what small matches need."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable
from time import thread_time
from types import TracebackType
from typing import Self

from rookery.boundary.offload import Threads
from rookery.worker.match.events import Event, LatencyMeasured
from rookery.worker.match.feed import Feed
from rookery.worker.match.game import Table
from rookery.worker.match.job import PairJob, Setup
from rookery.worker.match.latency import Latency, probed
from rookery.worker.match.slot import Slot
from rookery.worker.match.syzygy import open_tables, probe_of


class LocalMatch:
    """Takes jobs as slots become free, until there are none left or it is ended."""

    def __init__(
        self,
        jobs: Iterable[PairJob] | AsyncIterator[PairJob],
        setup: Setup,
        *,
        concurrency: int = 1,
    ) -> None:
        self._jobs = jobs if isinstance(jobs, AsyncIterator) else listed(jobs)
        self._setup = setup
        self._concurrency = concurrency
        self._feed = Feed()
        self._latency = Latency.fresh()
        self._cpu_began = 0.0

    async def __aenter__(self) -> Self:
        self._cpu_began = thread_time()
        self._playing = asyncio.create_task(self._play())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._playing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._playing

    def __aiter__(self) -> AsyncIterator[Event]:
        return self._feed.events()

    async def _play(self) -> None:
        threads = Threads()
        tables = await threads.io(open_tables, self._setup.syzygy)
        probe = probe_of(tables) if self._setup.syzygy else None
        try:
            async with probed(self._latency):
                await self._play_slots(Table(self._setup, self._latency, probe), threads)
        finally:
            tables.close()

    async def _play_slots(self, table: Table, threads: Threads) -> None:
        slots = [
            Slot(number, table, threads, self._feed.tell) for number in range(self._concurrency)
        ]
        working = [asyncio.create_task(self._work(slot)) for slot in slots]
        try:
            await asyncio.gather(*working)
        except Exception as fault:  # noqa: BLE001 - whoever iterates gets it
            self._feed.fail(fault)
        finally:
            await _end(working, slots)
        self._latency.cpu_seconds = thread_time() - self._cpu_began
        self._feed.tell(LatencyMeasured(self._latency))
        self._feed.end()

    async def _work(self, slot: Slot) -> None:
        while (job := await anext(self._jobs, None)) is not None:
            await slot.play(job)
        await slot.close()


async def listed(jobs: Iterable[PairJob]) -> AsyncIterator[PairJob]:
    """Jobs that need no waiting for; each is made when a slot asks for it."""
    for job in jobs:
        yield job


async def _end(working: list[asyncio.Task[None]], slots: list[Slot]) -> None:
    for task in working:
        task.cancel()
    await asyncio.gather(*working, return_exceptions=True)
    await asyncio.gather(*(slot.close(politely=False) for slot in slots))
