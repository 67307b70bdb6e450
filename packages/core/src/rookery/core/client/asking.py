"""Sends a question to a server's Ask and reads the answer as it is made."""

from collections.abc import Iterator
from typing import Protocol

import msgspec

from rookery.core.client.following import Sent, events_in
from rookery.core.client.transport import not_rookery
from rookery.core.http_failures import CallFailed
from rookery.core.protocol.ask import (
    AskEvent,
    AskQuery,
    DoneEvent,
    ErrorEvent,
    SourceList,
    TokenEvent,
)

STREAM = "/api/v1/ask/query/stream"
SILENT_SECONDS = 45.0
"""How long the stream may be silent. The server sends a comment every 15 seconds; after three
missing ones it counts as gone."""

KINDS: dict[str, type[AskEvent] | type[ErrorEvent]] = {
    "sources": SourceList,
    "token": TokenEvent,
    "done": DoneEvent,
    "error": ErrorEvent,
}


class AskTransport(Protocol):
    """The transport of a question and its answer. Tests have their own."""

    server: str

    def stream(self, path: str, body: bytes, seconds: float) -> Iterator[bytes]: ...


def ask_question(transport: AskTransport, query: AskQuery) -> Iterator[AskEvent]:
    """Yield the sources, the pieces of the answer and its end. Raise CallFailed when the answer is
    incomplete."""
    lines = transport.stream(STREAM, msgspec.json.encode(query), SILENT_SECONDS)
    for sent in events_in(lines):
        event = _decode_event(transport, sent)
        if isinstance(event, ErrorEvent):
            raise CallFailed(event.error)
        yield event
        if isinstance(event, DoneEvent):
            return
    raise CallFailed("The server ended its answer too early.")


def _decode_event(transport: AskTransport, sent: Sent) -> AskEvent | ErrorEvent:
    try:
        return msgspec.json.decode(sent.data, type=KINDS[sent.event])
    except (KeyError, msgspec.MsgspecError, UnicodeDecodeError):
        raise not_rookery(transport.server) from None
