"""Reports on stderr how far a long proof is and how long it will still take."""

import sys
import time

SECONDS_BETWEEN = 5.0


class Progress:
    """The progress of a proof in steps of about equal length."""

    def __init__(self, of: int, unit: str) -> None:
        self._of = of
        self._unit = unit
        self._began = time.monotonic()
        self._spoken = self._began

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    def tell(self, done: int, words: str = "") -> None:
        """Reports progress, but not more often than is useful."""
        now = time.monotonic()
        if now - self._spoken < SECONDS_BETWEEN and done < self._of:
            return
        self._spoken = now
        left = self.seconds * (self._of - done) / done if done else 0.0
        estimate = f", about {left:.0f} s left" if done and done < self._of else ""
        more = f"; {words}" if words else ""
        line = f"{done:,} of {self._of:,} {self._unit}, {self.seconds:.0f} s{estimate}{more}"
        print(line, file=sys.stderr, flush=True)
