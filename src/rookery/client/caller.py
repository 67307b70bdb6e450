"""What every call has: a body as JSON, an answer as a typed value."""

from typing import TypeVar
from urllib.parse import quote

import msgspec

from rookery.client.problems import BadAnswer
from rookery.client.transport import Transport

T = TypeVar("T")
ROOT = "/api/v1"


class Caller:
    """Calls one server; each method is one call, and blocks until it is answered."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def _get(self, path: str, kind: type[T]) -> T:
        return self._decoded(self._transport.call("GET", path), kind)

    def _delete(self, path: str, kind: type[T]) -> T:
        return self._decoded(self._transport.call("DELETE", path), kind)

    def _post(self, path: str, body: object, kind: type[T]) -> T:
        return self._send("POST", path, body, kind)

    def _send(self, method: str, path: str, body: object, kind: type[T]) -> T:
        return self._decoded(self._transport.call(method, path, msgspec.json.encode(body)), kind)

    def _decoded(self, body: bytes, kind: type[T]) -> T:
        try:
            return msgspec.json.decode(body, type=kind)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise BadAnswer(self._transport.server) from None


def place(*words: str) -> str:
    """The path of what these words name; the names in it may hold anything."""
    return "/".join((ROOT, *(quote(word, safe="") for word in words)))
