"""Log lines as events with fields, written by a thread of their own.

A call of a logger puts a dictionary into a bounded queue; rendering and writing happen in the
writer thread, so that a slow disk or terminal never blocks the event loop. When the queue is full
the line is dropped and counted, and the count is logged as soon as there is room.
"""

import logging
import queue
import sys
import threading
from collections.abc import Callable
from typing import Protocol, TextIO

import structlog
from structlog.typing import EventDict, WrappedLogger

QUEUE_LINES = 10_000
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


class LogWriter:
    """The queue and the thread that empties it."""

    def __init__(self, out: TextIO, render: Render, lines: int = QUEUE_LINES) -> None:
        self._out = out
        self._render = render
        self._lines = lines
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
        while (event := self._queue.get()) is not None:
            self._write(event)
            if self._dropped and self._queue.qsize() < self._lines:
                self._report_dropped()

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
