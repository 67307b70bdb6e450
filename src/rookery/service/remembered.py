"""Answers worth keeping for a moment: each has its own end, and there are never too many."""

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from rookery.clock import Clock

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class _Kept(Generic[V]):
    value: V
    until: float


class Remembered(Generic[K, V]):
    """Values by key; the event loop alone writes here. The oldest are forgotten first."""

    def __init__(self, clock: Clock, most: int) -> None:
        self._clock = clock
        self._most = most
        self._kept: OrderedDict[K, _Kept[V]] = OrderedDict()
        self.forgotten = 0
        """How often something was to be forgotten: what was looked up before is of no use then."""

    def get(self, key: K) -> V | None:
        kept = self._kept.get(key)
        return kept.value if kept is not None and kept.until > self._clock.seconds() else None

    def put(self, key: K, value: V, seconds: float) -> None:
        self._kept[key] = _Kept(value, self._clock.seconds() + seconds)
        self._kept.move_to_end(key)
        if len(self._kept) > self._most:
            self._kept.popitem(last=False)

    def forget(self, key: K) -> None:
        self.forgotten += 1
        self._kept.pop(key, None)

    def forget_all(self) -> None:
        self.forgotten += 1
        self._kept.clear()
