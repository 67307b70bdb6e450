"""The pairs of a task, handed out one by one until enough is enough."""

from collections.abc import Iterator
from math import ceil
from typing import Self

from rookery.worker.match.job import PairJob


class Supply:
    """Mutable: the match takes from it, the one who follows the match ends it."""

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
        """Hand out no more than so many in all."""
        self._limit = pairs


def last_useful(given: int, finished: int, batch: int, in_time: int, *, whole: bool) -> int:
    """How many pairs are worth playing when the worker must leave.

    `in_time` more pairs can end within the grace. Where only whole batches count, pairs beyond the
    last batch that can be whole are not worth it; else those that were begun may end.
    """
    if not whole:
        return given
    reachable = (finished + in_time) // batch * batch
    return min(reachable, ceil(given / batch) * batch)
