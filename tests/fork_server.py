"""A process that has imported Rookery and forks for each request: python -m tests.fork_server FD

Short commands spend most of their time on imports, and the suite starts hundreds. A fork runs a
module as `python -m` does, with its own folder, environment and standard streams.
"""

import gc
import importlib
import json
import os
import runpy
import selectors
import signal
import socket
import sys
from collections.abc import Sequence
from typing import NamedTuple

LARGEST_REQUEST = 1 << 20
STREAMS = 3
# Imported together with their dependencies; the modules that are run are not in this list, because
# they are loaded anew.
IMPORTED = (
    "rookery.cli.commands.login",
    "rookery.match.commands.match",
    "rookery.server.commands.net",
    "rookery.server.app.run",
    "rookery.server.commands.serve",
    "rookery.server.commands.token",
    "rookery.server.commands.up",
    "rookery.server.commands.user",
    "rookery.cli.commands.watch",
    "rookery.worker.commands.worker",
    "tests.twins.sites",
    "tests.wire.slow_routes",
)


class Request(NamedTuple):
    """What to run; the standard streams and a socket for the answer are passed along."""

    module: str
    words: Sequence[str]
    folder: str
    environment: dict[str, str]


class ForkServer:
    """Waits in one thread for requests and for forks that end, and reports how each ended."""

    def __init__(self, requests: socket.socket) -> None:
        self._requests = requests
        self._askers: dict[int, socket.socket] = {}
        self._wake, self._ended = os.pipe()
        self._selector = selectors.DefaultSelector()
        for file in (self._wake, requests):
            self._selector.register(file, selectors.EVENT_READ)
        for end in (self._wake, self._ended):
            os.set_blocking(end, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.set_wakeup_fd(self._ended)

    def serve(self) -> Request | None:
        """Returns the request in a fork; in the server it returns None when there are no more
        clients."""
        while True:
            ready = [key.fileobj for key, _ in self._selector.select()]
            if self._wake in ready:
                os.read(self._wake, LARGEST_REQUEST)
                self._tell_ends()
            if self._requests not in ready:
                continue
            message, files, _, _ = socket.recv_fds(self._requests, LARGEST_REQUEST, STREAMS + 1)
            if not message:
                return None
            asker = socket.socket(fileno=files.pop())
            if (pid := os.fork()) == 0:
                asker.close()
                self._forget()
                return become(Request(*json.loads(message)), files)
            for file in files:
                os.close(file)
            asker.send(b"%d" % pid)
            self._askers[pid] = asker

    def _tell_ends(self) -> None:
        while self._askers:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            with self._askers.pop(pid) as asker:
                try:
                    asker.send(b"%d" % os.waitstatus_to_exitcode(status))
                except BrokenPipeError:
                    continue  # the client is gone

    def _forget(self) -> None:
        """Removes the server's state in a fork."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        self._selector.close()
        for asker in (self._requests, *self._askers.values()):
            asker.close()
        os.close(self._wake)
        os.close(self._ended)


def become(request: Request, streams: Sequence[int]) -> Request:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(request.folder)
    os.environ.clear()
    os.environ.update(request.environment)
    sys.argv[1:] = request.words
    return request


def main() -> None:
    for module in IMPORTED:
        importlib.import_module(module)
    gc.collect()
    gc.freeze()
    request = ForkServer(socket.socket(fileno=int(sys.argv[1]))).serve()
    if request is not None:
        runpy.run_module(request.module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
