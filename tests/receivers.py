"""Receivers of notifications: a real mail server and a real webhook on this machine."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from aiosmtpd.controller import Controller

from tests.ports import kept_port


@dataclass
class MailBox:
    """The mail that a mail server has accepted."""

    port: int
    letters: list[EmailMessage] = field(default_factory=list)
    refuses: bool = False
    unknown: frozenset[str] = frozenset()
    """Recipients that it rejects as unknown."""
    refused: int = 0
    """How often it has refused mail."""

    async def handle_RCPT(  # noqa: N802 - its name
        self, _server: Any, _session: Any, envelope: Any, address: str, _options: Any
    ) -> str:
        if address in self.unknown:
            return "550 no such user here"
        envelope.rcpt_tos.append(address)
        return "250 known"

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:  # noqa: N802 - its name
        if self.refuses:
            self.refused += 1
            return "451 try again later"
        found = message_from_bytes(envelope.content, policy=policy.default)
        assert isinstance(found, EmailMessage)
        self.letters.append(found)
        return "250 taken"


@contextmanager
def open_mail_box() -> Iterator[MailBox]:
    """A mail server at 127.0.0.1, without encryption."""
    with kept_port() as port:
        box = MailBox(port)
        controller = Controller(box, hostname="127.0.0.1", port=port)
        controller.start()
        try:
            yield box
        finally:
            controller.stop()


@dataclass(frozen=True, slots=True)
class WebhookCall:
    """A request that a webhook received."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass(slots=True)
class Listener:
    """The requests that a webhook received, and what it answers."""

    port: int = 0
    calls: list[WebhookCall] = field(default_factory=list)
    status: int = 200

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"


@contextmanager
def open_listener() -> Iterator[Listener]:
    """A web server at 127.0.0.1 that stores what is posted to it."""
    listener = Listener()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", "0")))
            headers = {name.lower(): value for name, value in self.headers.items()}
            listener.calls.append(WebhookCall(self.path, headers, body))
            self.send_response(listener.status)
            self.send_header("location", "http://127.0.0.1:1/elsewhere")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's
            """Logs nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listener.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield listener
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
