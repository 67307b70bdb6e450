"""A relay between workers and a server: one address over restarts, and a book of what went by."""

import contextlib
import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from urllib.parse import urlsplit

from tests.web_servers import web_server
from tests.workers.fake_server import Body, games_in

PATIENCE_SECONDS = 60


@dataclass
class Relay:
    """Written by the threads that serve."""

    target: str = ""
    address: str = ""
    heard: list[tuple[str, Body]] = field(default_factory=list)
    """Calls that reached the server and were answered by it."""
    asked: list[str] = field(default_factory=list)
    """Calls that were passed on, answered or not."""
    losing: int = 0
    """How many of the next answers to update_task are lost on their way."""

    def games(self) -> int:
        """All games that workers have told the server of: the last word on each task counts."""
        last = {
            (body["run_id"], body["task_id"]): games_in(body)
            for call, body in self.heard
            if call == "update_task"
        }
        return sum(last.values())

    def count(self, call: str) -> int:
        return sum(name == call for name, _ in self.heard)


class Serving(BaseHTTPRequestHandler):
    """One call on its way; each relay has a class of its own below this one."""

    relay: Relay

    def do_POST(self) -> None:
        size = int(self.headers["Content-Length"])
        body = self.rfile.read(size)
        # Who was killed in the middle of a call has not made it.
        if len(body) == size:
            self._pass_on(body)

    def do_GET(self) -> None:
        self._pass_on(None)

    def _pass_on(self, body: bytes | None) -> None:
        self.close_connection = True
        call = self.path.removeprefix("/api/")
        self.relay.asked.append(call)
        try:
            answer, text = self._answered(body)
        except (OSError, http.client.HTTPException):
            return
        if body is not None:
            self.relay.heard.append((call, json.loads(body)))
        if call == "update_task" and self.relay.losing:
            self.relay.losing -= 1
            return
        # Who was killed after a call does not wait for its answer.
        with contextlib.suppress(OSError):
            self._send(answer, text)

    def _send(self, answer: http.client.HTTPResponse, text: bytes) -> None:
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.headers.get("Content-Type", "text/plain"))
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def _answered(self, body: bytes | None) -> tuple[http.client.HTTPResponse, bytes]:
        link = http.client.HTTPConnection(
            urlsplit(self.relay.target).netloc, timeout=PATIENCE_SECONDS
        )
        headers = {"Content-Type": "application/json", "Host": urlsplit(self.relay.target).netloc}
        if "Authorization" in self.headers:
            headers["Authorization"] = self.headers["Authorization"]
        try:
            link.request(self.command, self.path, body, headers)
            answer = link.getresponse()
            return answer, answer.read()
        finally:
            link.close()

    def log_message(self, *_: object) -> None:
        """Tests read `heard`."""


@contextmanager
def relayed(relay: Relay) -> Iterator[Relay]:
    serving = type("Serving", (Serving,), {"relay": relay})
    with web_server(serving) as relay.address:
        yield relay
