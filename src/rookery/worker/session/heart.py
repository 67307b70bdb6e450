"""The heartbeat: a thread of its own, so that neither a build nor the loop can hold it up."""

import threading
from collections.abc import Callable
from time import monotonic
from typing import Self

from rookery.worker.session.faults import Refused, Unreachable

PERIOD_SECONDS = 120.0
AGAIN_SECONDS = 15.0
TICK_SECONDS = 1.0


class Heart:
    """Beats for one task whenever the server has heard nothing else for a while.

    `beat` says whether the task is alive; `lost` is called, in this thread, when it is not.
    """

    def __init__(
        self,
        beat: Callable[[], bool],
        lost: Callable[[], object],
        *,
        period: float = PERIOD_SECONDS,
        tick: float = TICK_SECONDS,
    ) -> None:
        self._beat = beat
        self._lost = lost
        self._period = period
        self._tick = tick
        self.stopped = False
        """Whether the server said that the task is over."""
        self._ended = threading.Event()
        self._last = monotonic()
        self._thread = threading.Thread(target=self._run, name="heart", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        # Nobody waits for a beat that is under way: its answer counts no more.
        self._ended.set()

    def heard(self) -> None:
        """The server has just had another sign of life."""
        self._last = monotonic()

    def _run(self) -> None:
        while not self._ended.wait(self._tick):
            if monotonic() - self._last < self._period:
                continue
            self._last = monotonic()
            if not self._alive() and not self._ended.is_set():
                self.stopped = True
                self._lost()
                return

    def _alive(self) -> bool:
        try:
            return self._beat()
        except Refused:
            return False
        except Unreachable:
            # Nobody knows. The next one comes soon: the server may be deaf for a moment only.
            self._last -= max(0.0, self._period - AGAIN_SECONDS)
            return True
