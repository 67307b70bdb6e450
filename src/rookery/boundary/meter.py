"""Measures the time that a coroutine spends on the loop itself, without what it waits for."""

from collections.abc import Coroutine, Generator
from dataclasses import dataclass
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
        self._accounts: dict[str, _Account] = {}

    async def measure(self, name: str, work: Coroutine[Any, Any, T]) -> T:
        """Await the work and add what it spent on the loop to the name's account."""
        account = self._accounts.get(name)
        if account is None:
            account = self._accounts[name] = _Account()
        account.calls += 1
        return await _Steps(work, account)

    def times(self) -> dict[str, LoopTime]:
        return {name: account.time() for name, account in self._accounts.items()}


class _Account:
    """Counted up in place: it is touched at every step of every call."""

    __slots__ = ("calls", "longest", "total")

    def __init__(self) -> None:
        self.calls = 0
        self.total = 0.0
        self.longest = 0.0

    def time(self) -> LoopTime:
        return LoopTime(self.calls, self.total, self.longest)


class _Steps(Generic[T]):
    """Drives a coroutine step by step, as the loop would, with a watch in the hand."""

    __slots__ = ("_account", "_work")

    def __init__(self, work: Coroutine[Any, Any, T], account: _Account) -> None:
        self._work = work
        self._account = account

    def __await__(self) -> Generator[Any, Any, T]:
        send, account = self._work.send, self._account
        fault: BaseException | None = None
        heard: Any = None
        while True:
            began = perf_counter()
            try:
                waits_for = send(heard) if fault is None else self._work.throw(fault)
            except StopIteration as end:
                result: T = end.value
                return result
            finally:
                seconds = perf_counter() - began
                account.total += seconds
                if seconds > account.longest:
                    account.longest = seconds
            fault = None
            try:
                heard = yield waits_for
            except BaseException as error:  # noqa: BLE001 - handed on to the coroutine, unchanged
                fault = error
