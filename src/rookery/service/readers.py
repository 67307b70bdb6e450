"""Those who wait for runs to change: woken soon after a change, not too often, a few at a time."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from typing import Protocol

PAUSE_SECONDS = 0.25
LONG_PAUSE_SECONDS = 1.0
"""For those who watch all runs: each time, every run that plays may have changed."""
WOKEN_AT_ONCE = 20
WAKING_SECONDS = 0.003


class Reader(Protocol):
    """Who waits."""

    def wake(self) -> None: ...


class Pace:
    """Has something done soon, but not too often."""

    def __init__(self, seconds: float, act: Callable[[set[str]], None]) -> None:
        self._seconds = seconds
        self._act = act
        self._runs: set[str] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._next = 0.0
        self.times = 0

    def soon(self, runs: Iterable[str]) -> None:
        """Many calls are one."""
        self._runs.update(runs)
        if self._runs and self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_at(max(loop.time(), self._next), self._go)

    def cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _go(self) -> None:
        self._timer = None
        self._next = asyncio.get_running_loop().time() + self._seconds
        self.times += 1
        runs, self._runs = self._runs, set()
        self._act(runs)


class Readers:
    """One per bus; the event loop alone uses it."""

    def __init__(self) -> None:
        self._of_all: set[Reader] = set()
        self._of_one: defaultdict[str, set[Reader]] = defaultdict(set)
        self._paces = (
            Pace(PAUSE_SECONDS, self._wake_those_of),
            Pace(LONG_PAUSE_SECONDS, self._wake_those_of_all),
        )

    def __len__(self) -> int:
        return len(self._of_all) + sum(map(len, self._of_one.values()))

    @property
    def rounds(self) -> int:
        """How often those who watch one run were woken."""
        return self._paces[0].times

    @contextmanager
    def waiting(self, reader: Reader, run: str) -> Iterator[None]:
        """For one run, or for all where none is named."""
        place = self._of_one[run] if run else self._of_all
        place.add(reader)
        try:
            yield
        finally:
            place.discard(reader)
            if run and not place:
                self._of_one.pop(run, None)

    def wake_soon(self, runs: Collection[str]) -> None:
        for pace in self._paces:
            pace.soon(runs)

    def cancel(self) -> None:
        for pace in self._paces:
            pace.cancel()

    def _wake_those_of_all(self, _runs: set[str]) -> None:
        self._wake(iter(tuple(self._of_all)))

    def _wake_those_of(self, runs: set[str]) -> None:
        watched = runs & self._of_one.keys()
        self._wake(iter(tuple(chain.from_iterable(self._of_one[run] for run in watched))))

    def _wake(self, readers: Iterator[Reader]) -> None:
        """Some at a time: a thousand readers at once would hold the loop for a tenth of a second.
        When the second lot is woken, the first has mostly had the event encoded for all."""
        some = tuple(islice(readers, WOKEN_AT_ONCE))
        for reader in some:
            reader.wake()
        if len(some) == WOKEN_AT_ONCE:
            asyncio.get_running_loop().call_later(WAKING_SECONDS, self._wake, readers)
