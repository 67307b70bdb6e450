"""Real server processes for tests, which never stay behind."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from tests.forks import PYTHON, Fork, start_process
from tests.places import IMPORTED

APP = "tests.wire.app_under_test"


@dataclass(frozen=True, slots=True)
class Server:
    """A started server; its log goes to a file."""

    address: str
    process: "Fork | subprocess.Popen[str]"
    log: Path

    @property
    def place(self) -> tuple[str, int]:
        parts = urlsplit(self.address)
        assert parts.hostname is not None
        assert parts.port is not None
        return parts.hostname, parts.port

    def connect(self) -> socket.socket:
        return socket.create_connection(self.place, timeout=60)

    def exchange(self, request: bytes) -> bytes:
        """Sends bytes as they are, and gives all that comes back until the server closes."""
        with self.connect() as wire:
            wire.sendall(request)
            return read_to_end(wire)

    def ask(self, path: str) -> socket.socket:
        """A connection on which a request is under way."""
        wire = self.connect()
        wire.sendall(f"GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
        return wire

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def wait(self, seconds: float = 60) -> int:
        return self.process.wait(seconds)

    def logged(self) -> str:
        return self.log.read_text()

    def until_logged(self, words: str) -> None:
        """The log is written by a thread of its own, a moment later."""
        while words not in self.logged():
            time.sleep(0.02)


def read_to_end(wire: socket.socket) -> bytes:
    pieces = []
    while piece := wire.recv(65536):
        pieces.append(piece)
    return b"".join(pieces)


@contextmanager
def running_server(
    folder: Path,
    port: int = 0,
    trouble: str = "",
    module: str = APP,
    settings: Mapping[str, str] | None = None,
) -> Iterator[Server]:
    """Listens on a free port; the block begins when it answers, or has given up."""
    log = folder / f"server-{port}.log"
    with _process(log, str(port), trouble, module, settings) as started:
        assert started.process.stdout is not None
        yield replace(started, address=started.process.stdout.readline().strip())


@contextmanager
def starting_server(folder: Path, trouble: str) -> Iterator[Server]:
    """The block begins at once."""
    with _process(folder / "server.log", "0", trouble) as started:
        yield started


@contextmanager
def _process(
    log: Path,
    port: str,
    trouble: str,
    module: str = APP,
    settings: Mapping[str, str] | None = None,
) -> Iterator[Server]:
    with log.open("w") as out:
        surroundings = os.environ | {"PYTHONPATH": IMPORTED} | dict(settings or {})
        command = [*PYTHON, module, port, trouble]
        process = start_process(command, env=surroundings, stderr=out)
    try:
        yield Server("", process, log)
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
