"""Measures the time that a coroutine spends on the loop itself, without what it waits for."""

from collections.abc import Coroutine, Generator
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any, Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LoopTime:
    """What one part has spent on the loop: how often, in all, and in its longest single step."""

    calls: int = 0
    total_seconds: float = 0.0
    longest_step_seconds: float = 0.0

    @property
    def mean_seconds(self) -> float:
        return self.total_seconds / self.calls if self.calls else 0.0


class LoopMeter:
    """The loop time of every part by its name; the event loop is its only writer."""

    def __init__(self) -> None:
        self._times: dict[str, LoopTime] = {}

    async def measure(self, name: str, work: Coroutine[Any, Any, T]) -> T:
        """Await the work and add what it spent on the loop to the name's account."""
        steps = _Steps(work)
        try:
            return await steps
        finally:
            so_far = self._times.get(name, LoopTime())
            self._times[name] = LoopTime(
                so_far.calls + 1,
                so_far.total_seconds + steps.total,
                max(so_far.longest_step_seconds, steps.longest),
            )

    def times(self) -> dict[str, LoopTime]:
        return dict(self._times)


class _Steps(Generic[T]):
    """Drives a coroutine step by step, as the loop would, with a watch in the hand."""

    def __init__(self, work: Coroutine[Any, Any, T]) -> None:
        self._work = work
        self.total = 0.0
        self.longest = 0.0

    def __await__(self) -> Generator[Any, Any, T]:
        resume = partial(self._work.send, None)
        while True:
            began = perf_counter()
            try:
                waits_for = resume()
            except StopIteration as end:
                result: T = end.value
                return result
            finally:
                self._note(perf_counter() - began)
            try:
                resume = partial(self._work.send, (yield waits_for))
            except BaseException as fault:  # noqa: BLE001 - handed on to the coroutine, unchanged
                resume = partial(self._work.throw, fault)

    def _note(self, seconds: float) -> None:
        self.total += seconds
        self.longest = max(self.longest, seconds)
