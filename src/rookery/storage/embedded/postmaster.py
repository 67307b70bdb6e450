"""One life of the postgres process, as its supervisor sees it."""

import signal
import time
from collections.abc import Callable
from pathlib import Path

from rookery.storage.embedded import child, kernel
from rookery.storage.embedded.layout import Layout

STATUS_LINE = 7  # of postmaster.pid


class Postmaster:
    def __init__(self, layout: Layout, binaries: Path) -> None:
        self._layout = layout
        self._log_start = child.end_of(layout.log)
        command = [str(binaries / "postgres"), "-D", str(layout.cluster)]
        # SIGQUIT is PostgreSQL's immediate stop: certain and quick, the next start recovers.
        before_exec = kernel.dying_with_parent(signal.SIGQUIT)
        self._process = child.start(command, layout.log, before_exec)
        self.pid = self._process.pid

    def ended(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        return self._process.poll()

    def is_ready(self) -> bool:
        try:
            text = (self._layout.cluster / "postmaster.pid").read_text(encoding="utf-8")
        except OSError:
            return False
        lines = text.splitlines()
        mine = len(lines) > STATUS_LINE and lines[0] == str(self.pid)
        return mine and lines[STATUS_LINE].strip() == "ready"

    def stop(self, listen: Callable[[float], None], *, patience: float) -> None:
        """Fast with a checkpoint; at once when that takes too long; killed as a last resort."""
        for number, seconds in (
            (signal.SIGINT, patience),
            (signal.SIGQUIT, 1.0),
            (signal.SIGKILL, 5.0),
        ):
            if self.ended() is None:
                self._process.send_signal(number)
                self._wait(listen, seconds)

    def last_words(self) -> str:
        return child.last_words(self._layout.log, self._log_start)

    def _wait(self, listen: Callable[[float], None], seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while self.ended() is None and (left := deadline - time.monotonic()) > 0:
            listen(left)
