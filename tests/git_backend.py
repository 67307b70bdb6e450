"""Serves repositories of a folder over HTTP, with git's own CGI program."""

import os
import subprocess
from http.server import BaseHTTPRequestHandler
from pathlib import Path

BACKEND = ("git", "http-backend")
PASSED_ON = {
    "Content-Type": "CONTENT_TYPE",
    "Content-Length": "CONTENT_LENGTH",
    "Content-Encoding": "HTTP_CONTENT_ENCODING",
    "Git-Protocol": "GIT_PROTOCOL",
}


class GitBackend(BaseHTTPRequestHandler):
    """Answers a request with git's backend, as a web server does; see git's manual."""

    root: Path

    def do_GET(self) -> None:
        self.answer()

    def do_POST(self) -> None:
        self.answer()

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        done = subprocess.run(
            BACKEND, input=body, env=self._variables(), capture_output=True, check=True
        )
        self._send(*done.stdout.split(b"\r\n\r\n", 1))

    def _variables(self) -> dict[str, str]:
        path, _, query = self.path.partition("?")
        said = {
            name: self.headers[header] for header, name in PASSED_ON.items() if self.headers[header]
        }
        return {
            "PATH": os.environ["PATH"],
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": "*",
            "GIT_PROJECT_ROOT": str(self.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            **said,
        }

    def _send(self, head: bytes, body: bytes) -> None:
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        self.send_response(int(headers.pop("Status", "200").split()[0]))
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Logs nothing."""
