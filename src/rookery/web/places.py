"""Places for answers that last: so many in all, and no address may take most of them."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from rookery.boundary.gate import Gate
from rookery.web.faults import TooManyRequests

SHARE = 5
"""One address may hold one in so many places."""


class TooManyStreams(TooManyRequests):
    """Too many streams are open from your address. Close some, or wait a little."""


class Places:
    """Changed by the event loop alone."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._most = max(1, gate.stats().size // SHARE)
        self._held: Counter[str] = Counter()

    @contextmanager
    def enter(self, client: str) -> Iterator[None]:
        """Raises GateFull, or TooManyStreams."""
        with self._gate.enter():
            if self._held[client] >= self._most:
                raise TooManyStreams
            self._held[client] += 1
            try:
                yield
            finally:
                self._held[client] -= 1
                if not self._held[client]:
                    del self._held[client]
