"""One worker process, as its supervisor sees it."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

from rookery_asgi.board import COUNTERS, Board
from rookery_asgi.recycling import Bounds, Vitals, resident_bytes, why_replace
from rookery_asgi.sockets import Listener

YOUNG_SECONDS = 1.0
"""A worker that dies sooner than this is replaced only after a pause."""
Command = Callable[[Sequence[Listener], Board, int], Sequence[str]]
REQUESTS = [1 + COUNTERS.index(name) for name in ("requests", "websockets")]


class Worker:
    """A process on the sockets it was given; it inherits them, the board, and nothing else."""

    def __init__(
        self,
        command: Command,
        listeners: Sequence[Listener],
        board: Board,
        slot: int,
        bounds: Bounds,
    ) -> None:
        """Starts it."""
        self.slot = slot
        self._board = board
        self._bounds = bounds
        self._started = time.monotonic()
        fds = [board.fd, *(listener.sock.fileno() for listener in listeners)]
        self._process = subprocess.Popen(list(command(listeners, board, slot)), pass_fds=fds)

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    @property
    def status(self) -> int | None:
        """The exit status, or None while it runs."""
        return self._process.poll()

    def is_ready(self) -> bool:
        """Whether it serves."""
        return self._board.is_ready(self.slot)

    def is_young(self) -> bool:
        """Whether it has only just been started."""
        return time.monotonic() - self._started < YOUNG_SECONDS

    def why_replace(self) -> str | None:
        """Why another should take its place, or None."""
        if not self.is_ready():
            return None
        numbers = self._board.read(self.slot)
        memory = resident_bytes(self.pid) if self._bounds.memory_bytes else 0
        vitals = Vitals(
            requests=sum(numbers[at] for at in REQUESTS),
            age_seconds=time.monotonic() - self._started,
            memory_bytes=memory,
        )
        return why_replace(vitals, self._bounds)

    def signal(self, number: int) -> None:
        """Pass a signal on."""
        if self._process.poll() is None:
            self._process.send_signal(number)

    def has_ended(self, *, seconds: float) -> bool:
        """Whether it ends within that time."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill(self) -> None:
        """End it, whatever it does."""
        self.signal(signal.SIGKILL)
        self._process.wait()


def worker_command(argv: Sequence[str]) -> Command:
    """The same command line again, for a worker on the given sockets."""

    def command(listeners: Sequence[Listener], board: Board, slot: int) -> list[str]:
        places = (f"{one.sock.fileno()}:{'tls' if one.secure else 'plain'}" for one in listeners)
        return [
            *(sys.executable, "-m", "rookery_asgi", *argv),
            *(word for place in places for word in ("--worker-fd", place)),
            *("--worker-slot", f"{board.fd}:{slot}"),
        ]

    return command
