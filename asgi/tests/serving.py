"""Starts the server as a user would and talks to it over real sockets."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from tests.machine import body_of

ROOT = Path(__file__).resolve().parent.parent
APP = "tests.apps:app"
LIMIT_SECONDS = 60.0
"""Of every wait; reached in failure alone."""
LAST = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"


class Served:
    """A running server and what it says."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.lines: list[str] = []
        self.port = 0
        self.listening = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append(line.rstrip())
            found = re.search(r"serving on (\S+)", line)
            if found:
                port = re.search(r":(\d+)$", found.group(1))
                self.port = int(port.group(1)) if port else 0
                self.listening.set()
        self.listening.set()

    @property
    def log(self) -> str:
        return "\n".join(self.lines)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=LIMIT_SECONDS)

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def wait(self) -> int:
        status = self.process.wait(LIMIT_SECONDS)
        self._reader.join(LIMIT_SECONDS)
        return status

    def stop(self) -> int:
        self.signal(signal.SIGTERM)
        return self.wait()

    def descriptors(self) -> int:
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))

    def memory(self) -> int:
        """Resident bytes."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+)", text)
        return int(found.group(1)) * 1024 if found else 0


def command(app: str, *options: str) -> list[str]:
    return [sys.executable, "-m", "rookery_asgi", *([app] if app else []), *options]


@contextlib.contextmanager
def serve(
    app: str,
    *options: str,
    port: bool = True,
    fds: tuple[int, ...] = (),
    stdout: IO[str] | int = subprocess.DEVNULL,
    variables: Mapping[str, str] | None = None,
) -> Iterator[Served]:
    """A server in a process of its own; it is gone when the block ends."""
    where = ["--port", "0"] if port else []
    process = subprocess.Popen(
        command(app, *where, *options),
        cwd=ROOT,
        stderr=subprocess.PIPE,
        stdout=stdout,
        text=True,
        pass_fds=fds,
        env={**os.environ, "PYTHONWARNINGS": "default", **(variables or {})},
    )
    served = Served(process)
    try:
        assert served.listening.wait(LIMIT_SECONDS), served.log
        yield served
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(LIMIT_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(LIMIT_SECONDS)
        served._reader.join(LIMIT_SECONDS)
        assert process.stderr is not None
        process.stderr.close()


def exchange(sock: socket.socket, data: bytes) -> bytes:
    """Send, and read until the server closes."""
    sock.sendall(data)
    return read_all(sock)


def read_all(sock: socket.socket) -> bytes:
    """Everything until the end; a reset is an end, too."""
    parts: list[bytes] = []
    with contextlib.suppress(ConnectionResetError):
        while part := sock.recv(65536):
            parts.append(part)
    return b"".join(parts)


def read_response(sock: socket.socket) -> bytes:
    """One response with a content-length."""
    data = b""
    while b"\r\n\r\n" not in data:
        part = sock.recv(65536)
        assert part, data
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    found = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
    length = int(found.group(1)) if found else 0
    while len(body) < length:
        part = sock.recv(65536)
        assert part, data
        body += part
    return head + b"\r\n\r\n" + body


def eventually(condition: object) -> bool:
    """Whether the condition comes true within the time."""
    end = time.monotonic() + LIMIT_SECONDS
    assert callable(condition)
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return bool(condition())


def get(path: str, *headers: str) -> bytes:
    lines = [f"GET {path} HTTP/1.1", "Host: a", *headers, "", ""]
    return "\r\n".join(lines).encode()


def ask(served: Served, path: str, *headers: str) -> bytes:
    with served.connect() as sock:
        return exchange(sock, get(path, "Connection: close", *headers))


def notes(served: Served) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(body_of(ask(served, "/notes")))
    return found


def begun(served: Served, count: int) -> bool:
    """Whether that many requests reach applications that take their time."""
    return eventually(lambda: notes(served)["begun"] == count)
