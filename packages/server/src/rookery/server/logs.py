"""Log lines as events with fields, written by a thread of their own.

A call of a logger puts a dictionary into a bounded queue; rendering and writing happen in the
writer thread, so that a slow disk or terminal never blocks the event loop. When the queue is full
the line is dropped and counted, and the count is logged as soon as there is room. Of lines of the
same kind only the first ones of each period are written, and the others are counted.
"""

import logging
import queue
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Protocol, TextIO

import structlog
from structlog.typing import EventDict, WrappedLogger

QUEUE_LINES = 10_000
MOST_REPEATED = 50
PERIOD_SECONDS = 10.0
EACH_WRITTEN = frozenset({"request", "logged_in", "signed_up"})
"""Events of which every line is written: who wants an access log, or to know who came, wants all of
it."""
LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}

Render = Callable[[EventDict], str]


class Log(Protocol):
    """A logger: an event's name and its fields, by level."""

    def debug(self, event: str, /, **fields: object) -> object: ...

    def info(self, event: str, /, **fields: object) -> object: ...

    def warning(self, event: str, /, **fields: object) -> object: ...

    def error(self, event: str, /, **fields: object) -> object: ...


class SilentLog:
    """A logger that discards everything."""

    def debug(self, event: str, /, **fields: object) -> None:
        """Does nothing."""

    info = warning = error = debug


Kind = tuple[object, object, object]
"""Of which kind a line is: its event, its level and, if it says that, why."""


class Repeats:
    """Counts lines by kind. A flood of one mistake then neither fills the disk nor hides others."""

    def __init__(self, most: int = MOST_REPEATED) -> None:
        self._most = most
        self._counts: Counter[Kind] = Counter()

    def admit(self, event: EventDict) -> bool:
        """Count a line. Returns whether it is one of the first of its kind."""
        if event["event"] in EACH_WRITTEN:
            return True
        kind = event["event"], event.get("level"), event.get("why")
        self._counts[kind] += 1
        return self._counts[kind] <= self._most

    def end_period(self) -> Iterator[EventDict]:
        """Begin to count anew. The lines that tell of those left out."""
        counted, self._counts = self._counts, Counter()
        for (event, level, why), count in counted.items():
            if count > self._most:
                said = {} if why is None else {"why": why}
                left_out = {"of": event, **said, "count": count - self._most}
                yield {"event": "log_lines_left_out", "level": level, **left_out}


class LogWriter:
    """The queue and the thread that empties it."""

    def __init__(
        self,
        out: TextIO,
        render: Render,
        lines: int = QUEUE_LINES,
        period: float = PERIOD_SECONDS,
    ) -> None:
        self._out = out
        self._render = render
        self._lines = lines
        self._period = period
        self._repeats = Repeats()
        # SimpleQueue.put never blocks, which Queue.put_nowait does for its lock.
        self._queue: queue.SimpleQueue[EventDict | None] = queue.SimpleQueue()
        self._dropped = 0
        self._thread = threading.Thread(target=self._write_all, name="log-writer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, seconds: float = 2.0) -> None:
        """Writes what is queued and ends the thread."""
        self._queue.put(None)
        self._thread.join(seconds)

    def put(self, event: EventDict) -> None:
        if self._queue.qsize() >= self._lines:
            self._dropped += 1
        else:
            self._queue.put(event)

    def _write_all(self) -> None:
        until = time.monotonic() + self._period
        while (event := self._take(until)) is not None:
            if event and self._repeats.admit(event):
                self._write(event)
            if self._dropped and self._queue.qsize() < self._lines:
                self._report_dropped()
            if time.monotonic() >= until:
                until = time.monotonic() + self._period
                self._report_left_out()
        self._report_left_out()

    def _take(self, until: float) -> EventDict | None:
        """The next line; an empty one at the end of the period, None at the end of all."""
        try:
            return self._queue.get(timeout=max(0.0, until - time.monotonic()))
        except queue.Empty:
            return {}

    def _report_left_out(self) -> None:
        for event in self._repeats.end_period():
            self._write(_stamp(None, "", event))

    def _report_dropped(self) -> None:
        lost, self._dropped = self._dropped, 0
        self._write({"event": "log_lines_dropped", "level": "warning", "count": lost})

    def _write(self, event: EventDict) -> None:
        try:
            self._out.write(self._render(event) + "\n")
            if self._queue.empty():
                self._out.flush()
        except (OSError, ValueError):
            # The log can't be written any more (closed pipe, full disk): go on without it.
            return


class _QueueLogger:
    """The end of structlog's chain: passes each event to the writer."""

    def __init__(self, writer: LogWriter) -> None:
        self._writer = writer

    def _put(self, **event: object) -> None:
        self._writer.put(event)

    debug = info = warning = warn = error = critical = exception = fatal = msg = log = _put


class _FromStandardLibrary(logging.Handler):
    """Adds the log lines of libraries that use `logging`."""

    def __init__(self, writer: LogWriter) -> None:
        super().__init__()
        self._writer = writer

    def emit(self, record: logging.LogRecord) -> None:
        event: EventDict = {
            "event": record.getMessage(),
            "level": record.levelname.lower(),
            "logger": record.name,
        }
        if record.exc_info:
            event["exc_info"] = record.exc_info
        self._writer.put(_stamp(None, "", event))


_stamp = structlog.processors.TimeStamper(fmt="iso", utc=True)


def start_logs(out: TextIO | None = None, style: str = "auto", level: str = "info") -> LogWriter:
    """Starts the writer, and makes structlog and the standard library use it."""
    stream = out or sys.stderr
    writer = LogWriter(stream, _renderer(style, stream))
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            _stamp,
            _catch_exception,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
        logger_factory=lambda *_: _QueueLogger(writer),
        cache_logger_on_first_use=False,
    )
    logging.basicConfig(
        handlers=[_FromStandardLibrary(writer)],
        level=max(LEVELS[level], logging.WARNING),
        force=True,
    )
    writer.start()
    return writer


def logger() -> Log:
    """A structlog logger; `start_logs` decides where it writes."""
    log: Log = structlog.get_logger()
    return log


def _catch_exception(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Adds the caller's exception to the event, because the writer thread can't see it."""
    if event.get("exc_info") is True:
        event["exc_info"] = sys.exc_info()
    return event


def _renderer(style: str, out: TextIO) -> Render:
    on_terminal = out.isatty()
    if style == "json" or (style == "auto" and not on_terminal):
        last: structlog.typing.Processor = structlog.processors.JSONRenderer(default=str)
        chain: list[structlog.typing.Processor] = [structlog.processors.format_exc_info, last]
    else:
        chain = [structlog.dev.ConsoleRenderer(colors=on_terminal)]

    def render(event: EventDict) -> str:
        shown: object = event
        for step in chain:
            shown = step(None, "", shown)  # type: ignore[arg-type]  # the last one gives text
        return str(shown)

    return render
