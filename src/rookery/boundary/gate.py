"""Admission to a scarce section: who finds it full is refused at once and waits for nothing."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock

from rookery.boundary.errors import GateFull

__all__ = ["Gate", "GateFull", "GateStats"]


@dataclass(frozen=True, slots=True)
class GateStats:
    """The counters of a gate since the start."""

    name: str
    size: int
    inside: int
    entered: int
    refused: int


class Gate:
    """At most `size` callers inside at once, from the loop or from any thread."""

    def __init__(self, name: str, size: int) -> None:
        if size < 1:
            raise ValueError("a gate lets at least one caller in")
        self._name = name
        self._size = size
        # Held for a few instructions only, so taking it never blocks the loop noticeably.
        self._lock = Lock()
        self._inside = 0
        self._entered = 0
        self._refused = 0

    @contextmanager
    def enter(self) -> Iterator[None]:
        """Hold one place for the length of the block; raises GateFull when there is none."""
        self._take()
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1

    def stats(self) -> GateStats:
        with self._lock:
            return GateStats(self._name, self._size, self._inside, self._entered, self._refused)

    def _take(self) -> None:
        with self._lock:
            if self._inside >= self._size:
                self._refused += 1
                raise GateFull(self._name)
            self._inside += 1
            self._entered += 1
