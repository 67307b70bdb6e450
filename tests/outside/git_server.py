"""Repositories of a folder over HTTP, by git's own CGI program."""

import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.outside.repositories import ENVIRONMENT


@dataclass(frozen=True, slots=True)
class GitServer:
    """Where it listens, and which hosts it was asked for."""

    port: int
    asked: list[str] = field(default_factory=list)

    def address(self, host: str, name: str) -> str:
        return f"http://{host}:{self.port}/{name}"


class _Handler(BaseHTTPRequestHandler):
    folder: Path
    elsewhere: str
    asked: list[str]

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""

    def _answer(self) -> None:
        self.asked.append(self.headers.get("Host", ""))
        if self.elsewhere:
            self.send_response(302)
            self.send_header("Location", self.elsewhere + self.path)
            self.end_headers()
            return
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        done = subprocess.run(
            ["git", "http-backend"], env=self._variables(), input=body, check=True,
            capture_output=True,
        )  # fmt: skip
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        self.send_response(int(fields.pop("Status", "200").split()[0]))
        for name, value in fields.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def _variables(self) -> dict[str, str]:
        path, _, query = self.path.partition("?")
        return {
            **ENVIRONMENT,
            "GIT_PROJECT_ROOT": str(self.folder),
            "GIT_HTTP_EXPORT_ALL": "1",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "GIT_CONFIG_GLOBAL": os.devnull,
        }


@contextmanager
def git_server(folder: Path, *, elsewhere: str = "") -> Iterator[GitServer]:
    """Serves the repositories below a folder, or sends everybody elsewhere."""
    asked: list[str] = []
    places = {"folder": folder, "elsewhere": elsewhere, "asked": asked}
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), places))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield GitServer(server.server_port, asked)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
