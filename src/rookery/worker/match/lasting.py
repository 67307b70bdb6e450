"""A match in batches: runner processes and engines keep their places from one to the next."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import aclosing
from typing import Self

from rookery.worker.match.events import Event, PairEnded
from rookery.worker.match.job import PairJob, Setup
from rookery.worker.match.sharded import FAREWELL_SECONDS, Give, ShardedMatch


class LastingMatch(ShardedMatch):
    """Entered once; then its batches are played one after the other, each a match of its own."""

    def __init__(
        self, setup: Setup, *, concurrency: int = 1, nodes: Sequence[frozenset[int]] | None = None
    ) -> None:
        super().__init__((), setup, concurrency=concurrency, nodes=nodes)
        self._waiting: list[Give] = []
        self._open = 0
        """Pairs that were given out and have not ended."""
        self._leaving = False

    async def __aexit__(self, *_: object) -> None:
        if not self._open:
            self._leaving = True
            self.begin(())
            await asyncio.wait({self._playing}, timeout=FAREWELL_SECONDS)
        await super().__aexit__()

    def begin(self, jobs: Iterable[PairJob]) -> None:
        """Let these be played by all who wait for something to do."""
        self._jobs = iter(jobs)
        waiting, self._waiting = self._waiting, []
        for give in waiting:
            self._serve(give)

    def is_over(self, event: Event) -> bool:
        """Whether this was the last event of the batch."""
        if not isinstance(event, PairEnded):
            return False
        self._open -= 1
        return self._open == 0

    def _serve(self, give: Give) -> None:
        job = next(self._jobs, None)
        if job is None and not self._leaving:
            self._waiting.append(give)
            return
        self._open += job is not None
        give(job)


class Batch:
    """One batch. Whoever leaves it before its end must leave the whole match."""

    def __init__(self, match: LastingMatch, jobs: Iterable[PairJob]) -> None:
        self._match = match
        self._jobs = jobs

    async def __aenter__(self) -> Self:
        self._match.begin(self._jobs)
        return self

    async def __aexit__(self, *_: object) -> None:
        """The engines stay."""

    async def __aiter__(self) -> AsyncIterator[Event]:
        async with aclosing(aiter(self._match)) as events:
            async for event in events:
                over = self._match.is_over(event)
                yield event
                if over:
                    return
