"""What the process does on signals.

SIGTERM, SIGINT   stop; a second SIGINT ends the process at once
SIGUSR1           every thread's stack on stderr, even while the event loop is blocked
SIGHUP            a log line and nothing else
"""

import asyncio
import faulthandler
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rookery.logs import Log


class StopRequest:
    """Set by the first signal that asks for a stop."""

    def __init__(self, end_now: Callable[[], None], log: Log) -> None:
        self._asked = asyncio.Event()
        self._listeners: list[Callable[[], None]] = []
        self._end_now = end_now
        self._log = log

    @property
    def made(self) -> bool:
        return self._asked.is_set()

    async def wait(self) -> None:
        await self._asked.wait()

    def on_first(self, act: Callable[[], None]) -> None:
        self._listeners.append(act)

    def make(self, number: int = signal.SIGTERM) -> None:
        if not self.made:
            self._log.info("stop_requested", signal=signal.Signals(number).name)
            self._asked.set()
            for act in self._listeners:
                act()
        elif number == signal.SIGINT:
            self._end_now()


@contextmanager
def signals_caught(request: StopRequest, log: Log) -> Iterator[None]:
    """On the main thread's running loop, for the length of the block."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, request.make, number)
    loop.add_signal_handler(signal.SIGHUP, lambda: log.info("hangup_ignored"))
    _dump_stacks_on(signal.SIGUSR1)
    try:
        yield
    finally:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.remove_signal_handler(number)
        faulthandler.unregister(signal.SIGUSR1)


def _dump_stacks_on(number: int) -> None:
    # Written by the C handler itself, so it needs no help from a loop that hangs.
    faulthandler.register(number, file=sys.__stderr__ or sys.stderr, all_threads=True, chain=False)
