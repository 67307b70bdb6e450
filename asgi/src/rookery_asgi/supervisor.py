"""Several worker processes, or one that is replaced when files change.

The supervisor binds the sockets and keeps them; a worker inherits one and begins to listen on it
when its application is ready. A worker that dies is replaced and finds its backlog as it was.
"""

import logging
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from types import FrameType

from rookery_asgi import sockets
from rookery_asgi.options import Options

log = logging.getLogger("rookery_asgi")

POLL_SECONDS = 0.1
# A worker that dies sooner than this is replaced only after a pause.
YOUNG_SECONDS = 1.0
HOPELESS = frozenset({2, 3})
Command = Callable[[Sequence[int]], Sequence[str]]


class Worker:
    """One child process on sockets of its own, or on those of all."""

    def __init__(self, command: Command, socks: Sequence[socket.socket]) -> None:
        """Not started yet."""
        self._command = command
        self._fds = [sock.fileno() for sock in socks]
        self._process: subprocess.Popen[bytes] | None = None
        self._started = 0.0

    def start(self) -> None:
        """Start the process; it inherits the sockets and nothing else."""
        self._started = time.monotonic()
        self._process = subprocess.Popen(list(self._command(self._fds)), pass_fds=self._fds)

    @property
    def status(self) -> int | None:
        """The exit status, or None while it runs."""
        return self._process.poll() if self._process is not None else None

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid if self._process is not None else 0

    def is_young(self) -> bool:
        """Whether it has only just been started."""
        return time.monotonic() - self._started < YOUNG_SECONDS

    def signal(self, number: int) -> None:
        """Pass a signal on."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(number)

    def stop(self, seconds: float) -> None:
        """Ask it to stop, and make it when it does not."""
        self.signal(signal.SIGTERM)
        try:
            if self._process is not None:
                self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            log.error("worker %d did not stop and was killed", self.pid)
            self.signal(signal.SIGKILL)


class Supervisor:
    """Keeps the workers alive until it is told to stop."""

    def __init__(self, options: Options, command: Command, changed: Callable[[], bool]) -> None:
        """`command` gives a worker's command line; `changed` says whether files have changed."""
        self._options = options
        self._changed = changed
        count = 1 if options.reload else options.workers
        self._sockets = bind_shared(options, count)
        self._workers = [Worker(command, socks) for socks in self._sockets]
        self._stopping = False
        self._failed: int | None = None
        self._grace = options.timeout_graceful_shutdown + options.timeout_lifespan + 5.0

    def run(self) -> int:
        """Serve until SIGTERM or SIGINT; the exit status."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_stop)
        signal.signal(signal.SIGHUP, self._on_hangup)
        for worker in self._workers:
            worker.start()
        while not self._stopping:
            time.sleep(POLL_SECONDS)
            self._look()
        self._stop_all()
        return self._failed or 0

    def _look(self) -> None:
        if self._options.reload and self._changed():
            log.info("files changed: restarting")
            self._workers[0].stop(self._grace)
            self._workers[0].start()
        for worker in self._workers:
            if worker.status is not None and not self._stopping:
                self._replace(worker)

    def _replace(self, worker: Worker) -> None:
        # the options, the application or the address can't be used: trying again won't help
        if worker.status in HOPELESS and not self._options.reload:
            self._failed = worker.status
            self._stopping = True
            return
        if worker.is_young() or (self._options.reload and worker.status != 0):
            time.sleep(YOUNG_SECONDS)
            if self._options.reload and not self._changed():
                return
        log.error("worker %d ended with status %s: replaced", worker.pid, worker.status)
        worker.start()

    def _stop_all(self) -> None:
        for worker in self._workers:
            worker.signal(signal.SIGTERM)
        for worker in self._workers:
            worker.stop(self._grace)
        for socks in self._sockets:
            for sock in socks:
                sockets.remove_unix(sock, self._options.uds)
                sock.close()

    def _on_stop(self, number: int, frame: FrameType | None) -> None:
        self._stopping = True

    def _on_hangup(self, number: int, frame: FrameType | None) -> None:
        for worker in self._workers:
            worker.signal(signal.SIGHUP)


def bind_shared(options: Options, count: int) -> list[list[socket.socket]]:
    """The sockets of each worker: its own on the same addresses, between which the kernel shares
    out the clients, or the same for all. What is not TCP can only be the same."""
    own = count > 1 and not options.shared_socket
    first = sockets.bind(options, shared=own)
    if own and sockets.is_tcp(first[0]) and options.fd is None:
        port = first[0].getsockname()[1]
        return [
            first,
            *(sockets.bind_tcp(options.host, port, shared=True) for _ in range(count - 1)),
        ]
    return [first] * count


def worker_command(argv: Sequence[str]) -> Command:
    """The same command line again, for a worker on the given descriptors."""
    return lambda fds: [
        *(sys.executable, "-m", "rookery_asgi", *argv),
        *(word for fd in fds for word in ("--worker-fd", str(fd))),
    ]
