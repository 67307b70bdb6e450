"""One HTTP request: the application's `receive` and `send`, turned into wakeups."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rookery_asgi.mongoose import wakeups
from rookery_asgi.mongoose.line import Line
from rookery_asgi.mongoose.responses import (
    _format_chunked_header,
    checked,
    content_length,
    format_closing_header,
    has_body,
    own_headers,
)
from rookery_asgi.mongoose.state import ClientDisconnected
from rookery_asgi.types import App, Header, Message


@dataclass(frozen=True, slots=True)
class Around:
    """What every request of a server shares."""

    date: bool
    server: bool
    failed: Callable[[BaseException], None]
    noted: Callable[[Any], None] | None


class HttpCall:
    """Runs the application for one request."""

    def __init__(self, line: Line, around: Around) -> None:
        """Nothing has been sent."""
        self._line = line
        self._state = line.state
        self._around = around
        self._began = time.monotonic()
        self._status = 500
        self._headers: list[Header] = []
        self._expected: int | None = None
        self._sent = 0
        self._ended = False

    async def run(self, app: App) -> None:
        """A response that the application leaves unfinished is ended for it."""
        try:
            await app(self._state.scope, self._line.receive, self.send)
            if not self._ended and not self._state.gone:
                raise RuntimeError("the application returned before its response had ended")
        except Exception as error:  # noqa: BLE001 - whatever the application raises
            if not (self._state.gone and isinstance(error, OSError)):
                self._around.failed(error)
        finally:
            self._give_up()

    async def send(self, message: Message) -> None:
        """The application's `send`."""
        if self._state.gone:
            raise ClientDisconnected("the client has left")
        kind = message["type"]
        if kind == "http.response.start" and not self._state.response_started:
            self._start(message)
        elif kind == "http.response.body" and self._state.response_started and not self._ended:
            await self._body(message)
        else:
            raise RuntimeError(f"a message of type {kind!r} is not expected now")

    def _start(self, message: Message) -> None:
        status, headers = message["status"], checked(message.get("headers", ()))
        self._expected = content_length(headers)
        closes = any(name == b"connection" and value.lower() == b"close" for name, value in headers)
        if closes or not self._has_body(status):
            self._state.keep_alive = False
        around = self._around
        self._status = status
        self._headers = headers + own_headers(headers, date=around.date, server=around.server)
        self._state.response_started = True

    async def _body(self, message: Message) -> None:
        data, more = bytes(message.get("body", b"")), bool(message.get("more_body", False))
        self._count(data, more)
        if more or self._state.streaming:
            await self._stream(data, more)
        else:
            self._whole(data)
        if not more:
            self._finish()

    def _has_body(self, status: int) -> bool:
        return has_body(self._state.scope["method"], status)

    def _count(self, data: bytes, more: bool) -> None:
        if self._has_body(self._status):
            self._sent += len(data)
            expected = self._sent if self._expected is None else self._expected
            if self._sent > expected or (not more and self._sent < expected):
                raise RuntimeError(f"{self._sent} bytes are not the content-length {expected}")

    def _whole(self, body: bytes) -> None:
        """The buffered path: status, headers and body as one piece of JSON."""
        headers = [(name.decode(), value.decode("latin-1")) for name, value in self._headers]
        fields = {"status": self._status, "headers": headers, "body": body.decode("latin-1")}
        self._line.wake(wakeups.RESPONSE, json.dumps(fields).encode())

    async def _stream(self, data: bytes, more: bool) -> None:
        if not self._state.streaming:
            self._state.streaming = True
            await self._line.wake_with_permit(wakeups.STREAM_HEAD, self._stream_head())
        if data and self._has_body(self._status):
            await self._line.wake_with_permit(wakeups.STREAM_CHUNK, data)
        if not more:
            self._line.wake(wakeups.STREAM_END)

    def _stream_head(self) -> bytes:
        state = self._state
        if self._has_body(self._status) and state.scope["http_version"] == "1.1":
            state.chunked = True
            return _format_chunked_header(self._status, self._headers, keep_alive=state.keep_alive)
        return format_closing_header(self._status, self._headers, self._expected)

    def _finish(self) -> None:
        self._ended = True
        self._state.receive_queue.put_nowait({"type": "http.disconnect"})
        if self._around.noted is not None:
            scope = self._state.scope
            who = (scope["client"], scope["method"], self._target())
            request = (*who, scope["http_version"], scope["headers"])
            took = time.monotonic() - self._began
            self._around.noted((request, self._status, self._sent, took))

    def _target(self) -> bytes:
        path: bytes = self._state.scope["raw_path"]
        query: bytes = self._state.scope["query_string"]
        return path + b"?" + query if query else path

    def _give_up(self) -> None:
        """End an unfinished response: a 500 if nothing was said, or a cut that the client sees."""
        if self._ended or self._state.gone:
            return
        try:
            if self._state.streaming:
                self._state.cut = True
                self._line.wake(wakeups.STREAM_END)
            else:
                self._state.response_started = False
                self._start({"status": 500, "headers": [(b"content-type", b"text/plain")]})
                self._sent, self._expected = 0, None
                self._whole(b"Internal Server Error\n")
            self._finish()
        except ClientDisconnected:
            return
