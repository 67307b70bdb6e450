"""The access log: a JSON line per request, formatted and written by its own thread."""

import json
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator

Entry = tuple[tuple[tuple[str, int | None] | None, str, bytes], int, int, float]
"""(client, method, target), status, bytes of the body, seconds."""
Batch = tuple[str, list[Entry]]
BATCHES_MOST = 64
LINES_AT_ONCE = 50
"""How long the writer may keep the interpreter from the loop: 50 lines are 0.1 ms."""


def line(entry: Entry, stamp: str) -> str:
    """One entry as JSON."""
    (client, method, target), status, sent, seconds = entry
    fields = {
        "time": stamp,
        "client": f"{client[0]}:{client[1]}" if client else "",
        "method": method,
        "target": target.decode("latin-1"),
        "status": status,
        "bytes": sent,
        "ms": round(seconds * 1000, 2),
    }
    return json.dumps(fields, separators=(",", ":"))


def render(batch: Batch) -> Iterator[bytes]:
    """The batch as text, in pieces between which other threads may run."""
    stamp, entries = batch
    for at in range(0, len(entries), LINES_AT_ONCE):
        yield "".join([line(e, stamp) + "\n" for e in entries[at : at + LINES_AT_ONCE]]).encode()
        time.sleep(0)


class AccessLog:
    """Collects what the core notes and hands it to a writer thread, which may block on a pipe.

    A reader that does not keep up costs lines, which are counted, never requests.
    """

    def __init__(self, write: Callable[[bytes], object]) -> None:
        """`write` takes whole lines; it runs in the writer's thread."""
        self.entries: list[Entry] = []
        self.dropped = 0
        self._write = write
        self._batches: queue.Queue[Batch | None] = queue.Queue(BATCHES_MOST)
        self._thread = threading.Thread(target=self._drain, name="access-log", daemon=True)
        self._thread.start()

    def flush(self) -> None:
        """Hand over what has come in; called by the loop a few times a second."""
        if not self.entries:
            return
        batch = self.entries[:]
        self.entries.clear()
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        try:
            self._batches.put_nowait((stamp, batch))
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
                self._write(b"".join(render(batch)))
            except OSError:
                self.dropped += len(batch[1])


def write_stdout(data: bytes) -> None:
    """All of it, also to a pipe that takes it in pieces."""
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]
