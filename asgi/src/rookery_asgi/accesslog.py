"""The access log: a line per request, formatted and written by its own thread."""

import json
import logging
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from rookery_asgi.errors import BadOption
from rookery_asgi.types import Header

Entry = tuple[tuple[Any, ...], int, int, float]
"""The request, status, bytes of the body, seconds. A request is client, method and target; where
the format asks for them, also HTTP version and headers."""
Batch = tuple[float, list[Entry]]
BATCHES_MOST = 64
LINES_AT_ONCE = 50
"""How long the writer may keep the interpreter from the loop: 50 lines are 0.1 ms."""
LOGGER = "rookery_asgi.access"
NAMED = {
    "common": '{host} - - [{clf_time}] "{method} {target} {protocol}" {status} {bytes}',
    "combined": '{host} - - [{clf_time}] "{method} {target} {protocol}" {status} {bytes}'
    ' "{request[referer]}" "{request[user-agent]}"',
}
SAMPLE: Entry = ((("", 0), "GET", b"/", "1.1", []), 200, 0, 0.0)


def json_line(entry: Entry, at: float) -> str:
    """One entry as JSON."""
    (client, method, target, *_), status, sent, seconds = entry
    fields = {
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at)),
        "client": f"{client[0]}:{client[1]}" if client else "",
        "method": method,
        "target": target.decode("latin-1"),
        "status": status,
        "bytes": sent,
        "ms": round(seconds * 1000, 2),
    }
    return json.dumps(fields, separators=(",", ":"))


def quotable(text: str) -> str:
    """What a client has sent, so that it can stand between quotes in one line."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return text
    return "".join(c if c.isprintable() and c not in '"\\' else f"\\x{ord(c):02x}" for c in text)


class Sent:
    """`{request[name]}` in a format: a field of the request, or - where it has none."""

    def __init__(self, headers: list[Header]) -> None:
        self._headers = headers

    def __getitem__(self, name: str) -> str:
        wanted = name.lower().encode("latin-1")
        values = [value.decode("latin-1") for key, value in self._headers if key == wanted]
        return quotable(", ".join(values)) or "-"


class Template:
    """A format of the operator's own, with fields in braces."""

    def __init__(self, text: str) -> None:
        """Raises BadOption when it has a field that is not known."""
        self._text = NAMED.get(text, text)
        try:
            fixed = self(SAMPLE, 0.0) == self._text
        except (LookupError, ValueError, AttributeError, TypeError) as error:
            raise BadOption("--access-log-format", f"{text!r} can't be used: {error!r}") from None
        if fixed:
            raise BadOption("--access-log-format", f"{text!r} has no field in braces")

    def __call__(self, entry: Entry, at: float) -> str:
        """One line."""
        (client, method, target, *more), status, sent, seconds = entry
        version, headers = more or ("1.1", [])
        return self._text.format(
            time=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at)),
            clf_time=time.strftime("%d/%b/%Y:%H:%M:%S +0000", time.gmtime(at)),
            client=f"{client[0]}:{client[1]}" if client else "-",
            host=client[0] if client else "-",
            method=method or "-",
            target=quotable(target.decode("latin-1")) or "-",
            path=quotable(target.partition(b"?")[0].decode("latin-1")) or "-",
            protocol=f"HTTP/{version}",
            status=status,
            bytes=sent,
            seconds=seconds,
            ms=round(seconds * 1000, 2),
            pid=os.getpid(),
            request=Sent(headers),
        )


Format = Callable[[Entry, float], str]


def format_of(text: str) -> Format:
    """The function behind a name or a template."""
    return json_line if text == "json" else Template(text)


def wants_headers(text: str) -> bool:
    """Whether the format says more of the request than client, method and target."""
    full = NAMED.get(text, text)
    return "{request" in full or "{protocol" in full


def render(batch: Batch, line: Format = json_line) -> Iterator[bytes]:
    """The batch as text, in pieces between which other threads may run."""
    at, entries = batch
    for first in range(0, len(entries), LINES_AT_ONCE):
        lines = [line(e, at) + "\n" for e in entries[first : first + LINES_AT_ONCE]]
        yield "".join(lines).encode("utf-8", "backslashreplace")
        time.sleep(0)


class AccessLog:
    """Collects what the core notes and hands it to a writer thread, which may block on a pipe.

    A reader that does not keep up costs lines, which are counted, never requests.
    """

    def __init__(self, write: Callable[[bytes], object], text: str = "json") -> None:
        """`write` takes whole lines of the format; it runs in the writer's thread."""
        self.entries: list[Entry] = []
        self.dropped = 0
        self._write = write
        self._line = format_of(text)
        self._batches: queue.Queue[Batch | None] = queue.Queue(BATCHES_MOST)
        self._thread = threading.Thread(target=self._drain, name="access-log", daemon=True)
        self._thread.start()

    def flush(self) -> None:
        """Hand over what has come in; called by the loop a few times a second."""
        if not self.entries:
            return
        batch = self.entries[:]
        self.entries.clear()
        try:
            self._batches.put_nowait((time.time(), batch))
        except queue.Full:
            self.dropped += len(batch)

    def close(self, *, seconds: float = 2.0) -> None:
        """Write the rest; a blocked writer is given up after a while."""
        self.flush()
        try:
            self._batches.put(None, timeout=seconds)
        except queue.Full:
            return
        self._thread.join(seconds)

    def _drain(self) -> None:
        while (batch := self._batches.get()) is not None:
            try:
                self._write(b"".join(render(batch, self._line)))
            except OSError:
                self.dropped += len(batch[1])


def choose_writer() -> Callable[[bytes], object]:
    """Standard output, or Python's logging where its configuration names the access log."""
    return write_logged if logging.getLogger(LOGGER).handlers else write_stdout


def write_logged(data: bytes) -> None:
    """Each line as a record of the logger rookery_asgi.access."""
    logger = logging.getLogger(LOGGER)
    for line in data.decode().splitlines():
        logger.info("%s", line)


def write_stdout(data: bytes) -> None:
    """All of it, also to a pipe that takes it in pieces."""
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]
