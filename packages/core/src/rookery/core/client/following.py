"""Follows a run through the server's event stream, and reconnects after restarts of the server."""

import time
import urllib.parse
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import msgspec

from rookery.core.client.transport import not_rookery
from rookery.core.http_failures import CallRefused, NoAnswer
from rookery.core.protocol import v1

EVENTS = "/api/v1/events"
SILENT_SECONDS = 45.0
"""How long the stream may be silent. The server sends a comment every 15 seconds; after three
missing ones it counts as gone."""
FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 5.0
ITS_FAULT = 500
"""The lowest status that means a failure of the server, so that another attempt may succeed."""


class LineTransport(Protocol):
    """The transport of an endless answer. Tests have their own."""

    server: str

    def lines(self, path: str, after: str, seconds: float) -> Iterator[bytes]: ...


@dataclass(frozen=True, slots=True)
class Sent:
    """One event as it was received."""

    event: str
    data: bytes
    id: str


def events_in(lines: Iterable[bytes]) -> Iterator[Sent]:
    """Parse blocks of `name: value` lines, each ended by an empty line. A block may hold an id
    only."""
    fields: dict[str, bytes] = {}
    for line in lines:
        words = line.rstrip(b"\r\n")
        if words:
            name, _, value = words.partition(b":")
            fields[name.decode("utf-8", "replace")] = value.removeprefix(b" ")
            continue
        if "id" in fields or "data" in fields:
            yield _sent(fields)
        fields = {}


def _sent(fields: dict[str, bytes]) -> Sent:
    event, number = fields.get("event", b""), fields.get("id", b"")
    return Sent(
        event.decode("utf-8", "replace"), fields.get("data", b""), number.decode("ascii", "replace")
    )


@dataclass(frozen=True, slots=True)
class Seen:
    """The state of a run as the server sent it, with the raw JSON."""

    run: v1.RunDetails
    text: str


class Following:
    """Iterates over the states of a run: the present one, then a new one after each change,
    endlessly."""

    def __init__(
        self,
        transport: LineTransport,
        run_id: str,
        *,
        away: Callable[[str], object],
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._transport = transport
        self._path = f"{EVENTS}?{urllib.parse.urlencode({'run': run_id})}"
        self._away = away
        self._sleep = sleep
        self._last = ""

    def __iter__(self) -> Iterator[Seen]:
        """Raise refusals of the server. Until the first answer also raise when the server can't be
        reached."""
        pause, reached = FIRST_PAUSE_SECONDS, False
        while True:
            try:
                for sent in self._stream():
                    reached, pause = True, FIRST_PAUSE_SECONDS
                    if sent.event == "run":
                        yield self._seen(sent)
            except (CallRefused, NoAnswer) as problem:
                lasting = isinstance(problem, CallRefused) and problem.status < ITS_FAULT
                if lasting or not reached:
                    raise
                self._away(str(problem))
            else:
                self._away(f"The server at {self._transport.server} has ended the stream.")
            self._sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    def _stream(self) -> Iterator[Sent]:
        lines = self._transport.lines(self._path, self._last, SILENT_SECONDS)
        for sent in events_in(lines):
            yield sent
            # Remember the position only once the caller has taken the event.
            self._last = sent.id or self._last

    def _seen(self, sent: Sent) -> Seen:
        try:
            return Seen(msgspec.json.decode(sent.data, type=v1.RunDetails), sent.data.decode())
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise not_rookery(self._transport.server) from None
