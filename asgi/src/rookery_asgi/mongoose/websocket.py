"""One WebSocket: the application's `receive` and `send`, turned into wakeups.

The connection is upgraded before the application is asked. So `websocket.accept` only notes that it
agrees, and a rejection closes what is already open.
"""

import json
import logging
from collections.abc import Callable

from rookery_asgi.mongoose import wakeups
from rookery_asgi.mongoose.line import Line
from rookery_asgi.mongoose.state import ClientDisconnected
from rookery_asgi.types import App, Message

log = logging.getLogger("rookery_asgi")

NORMAL, REJECTED, INTERNAL = 1000, 1008, 1011
LATE_HEADERS = "the headers of websocket.accept come too late: the client has its answer"
LATE_PROTOCOL = "the client was told the subprotocol {told!r}; the application chose {chosen!r}"


class WebSocketCall:
    """Runs the application for one WebSocket."""

    def __init__(self, line: Line, failed: Callable[[BaseException], None]) -> None:
        """`failed` is told what the application raises."""
        self._line = line
        self._state = line.state
        self._failed = failed
        self._closed = False

    async def run(self, app: App) -> None:
        """A WebSocket that the application leaves open is closed for it."""
        code = INTERNAL
        try:
            await app(self._state.scope, self._line.receive, self.send)
            code = NORMAL if self._state.ws_accepted else INTERNAL
        except Exception as error:  # noqa: BLE001 - whatever the application raises
            if not (self._state.gone and isinstance(error, OSError)):
                self._failed(error)
        finally:
            if not self._closed and not self._state.gone:
                self._close(code, "")

    async def send(self, message: Message) -> None:
        """The application's `send`."""
        if self._state.gone:
            raise ClientDisconnected("the client has left")
        kind = message["type"]
        if self._closed:
            raise RuntimeError(f"a message of type {kind!r} is not expected after the close")
        if kind == "websocket.accept" and not self._state.ws_accepted:
            self._accept(message)
        elif kind == "websocket.send" and self._state.ws_accepted:
            await self._send(message)
        elif kind == "websocket.close":
            self._close_or_reject(message)
        else:
            raise RuntimeError(f"a message of type {kind!r} is not expected now")

    def _accept(self, message: Message) -> None:
        self._state.ws_accepted = True
        told = next(iter(self._state.scope["subprotocols"]), None)
        chosen = message.get("subprotocol")
        if told != chosen:
            log.warning(LATE_PROTOCOL.format(told=told, chosen=chosen))
        if message.get("headers"):
            log.warning(LATE_HEADERS)

    async def _send(self, message: Message) -> None:
        text = message.get("text")
        if text is not None:
            text.encode()  # what is no Unicode must raise here, in the application
            fields = {"text": text}
        else:
            fields = {"bytes": bytes(message["bytes"]).decode("latin-1")}
        await self._line.wake_with_permit(wakeups.WS_SEND, json.dumps(fields).encode())

    def _close_or_reject(self, message: Message) -> None:
        code = message.get("code", NORMAL)
        rejects = not self._state.ws_accepted and code == NORMAL
        self._close(REJECTED if rejects else code, message.get("reason") or "")

    def _close(self, code: int, reason: str) -> None:
        close_payload(code, reason)  # what can't be written must raise here, in the application
        self._closed = True
        self._state.close_with = (code, reason)
        try:
            self._line.wake(wakeups.WS_CLOSE)
        except ClientDisconnected:
            return


def close_payload(code: int, reason: str) -> bytes:
    """What a close frame carries; the reason is cut to what fits."""
    text = reason.encode()[:123].decode(errors="ignore").encode()
    return b"" if code == 1005 else code.to_bytes(2) + text


def read_close(raw: bytes) -> tuple[int, str] | None:
    """Code and reason of the close frame that the receive buffer begins with, if it does.

    Mongoose tells of control frames, but not which; it has unmasked the frame in place.
    """
    if len(raw) < 2 or raw[0] != 0x88:
        return None
    begin = 6 if raw[1] & 0x80 else 2
    payload = raw[begin : begin + (raw[1] & 0x7F)]
    if len(payload) < 2:
        return (1005, "")
    return (int.from_bytes(payload[:2]), payload[2:].decode(errors="replace"))
