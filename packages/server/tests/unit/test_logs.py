"""Logs: a thread writes, nobody waits, nothing is lost silently."""

import io
import json
import logging
import threading
import time

import pytest

from rookery.server.db.pool import make_event_log
from rookery.server.logs import MOST_REPEATED, LogWriter, logger, start_logs


def lines(out: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_an_event_becomes_a_json_line_with_its_fields() -> None:
    out = io.StringIO()
    writer = start_logs(out, style="json")
    logger().info("task_granted", run="r1", games=32)
    writer.stop()
    (line,) = lines(out)
    assert line["event"] == "task_granted"
    assert line["games"] == 32
    assert line["level"] == "info"


def test_a_level_below_the_chosen_one_is_not_written() -> None:
    out = io.StringIO()
    writer = start_logs(out, style="json", level="warning")
    logger().info("quiet")
    logger().warning("loud")
    writer.stop()
    assert [line["event"] for line in lines(out)] == ["loud"]


@pytest.mark.parametrize("event", ["state_lost", "lease_not_renewed", "database_down"])
def test_what_storage_loses_for_a_moment_is_a_warning(event: str) -> None:
    out = io.StringIO()
    writer = start_logs(out, style="json")
    make_event_log(logger())(event, reason="a hiccup")
    make_event_log(logger())("database_ready")
    writer.stop()
    assert [line["level"] for line in lines(out)] == ["warning", "info"]


def test_a_library_that_uses_logging_is_heard() -> None:
    out = io.StringIO()
    writer = start_logs(out, style="json")
    logging.getLogger("library").warning("it is %s", "late")
    writer.stop()
    (line,) = lines(out)
    assert (line["event"], line["logger"]) == ("it is late", "library")


def test_the_callers_exception_is_written_by_the_writers_thread() -> None:
    out = io.StringIO()
    writer = start_logs(out, style="json")
    try:
        raise KeyError("lost")
    except KeyError:
        logger().error("failed", exc_info=True)
    writer.stop()
    assert "KeyError: 'lost'" in str(lines(out)[0]["exception"])


def test_the_console_style_reads_as_text() -> None:
    out = io.StringIO()
    writer = start_logs(out, style="console")
    logger().info("ready", port=8000)
    writer.stop()
    assert "ready" in out.getvalue()
    assert "port=8000" in out.getvalue()


class HeldOut(io.StringIO):
    """A terminal that takes nothing until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.go = threading.Event()
        self.reached = threading.Event()

    def write(self, text: str) -> int:
        self.reached.set()
        self.go.wait()
        return super().write(text)


def test_lines_beyond_the_queue_are_dropped_and_counted() -> None:
    out = HeldOut()
    writer = LogWriter(out, json.dumps, lines=2)
    writer.start()
    writer.put({"event": "first"})
    out.reached.wait()
    for number in range(5):
        writer.put({"event": f"more {number}"})
    out.go.set()
    writer.stop()
    written = lines(out)
    assert [line["event"] for line in written if "count" not in line] == [
        "first",
        "more 0",
        "more 1",
    ]
    assert [line["count"] for line in written if "count" in line] == [3]


def test_lines_of_one_kind_are_counted_once_they_are_many() -> None:
    out = io.StringIO()
    writer = LogWriter(out, json.dumps)
    for number in range(MOST_REPEATED + 7):
        writer.put({"event": "refused", "level": "warning", "why": "Late", "number": number})
    writer.put({"event": "refused", "level": "warning", "why": "Large"})
    writer.start()
    writer.stop()
    *written, last, left_out = lines(out)
    assert [line["number"] for line in written] == [*range(MOST_REPEATED)]
    assert last["why"] == "Large"
    assert (left_out["event"], left_out["of"]) == ("log_lines_left_out", "refused")
    assert (left_out["why"], left_out["level"], left_out["count"]) == ("Late", "warning", 7)


def test_the_lines_left_out_are_told_though_nothing_follows() -> None:
    out = io.StringIO()
    writer = LogWriter(out, json.dumps, period=0.01)
    for _ in range(MOST_REPEATED + 1):
        writer.put({"event": "refused", "level": "warning"})
    writer.start()
    while "log_lines_left_out" not in out.getvalue():
        time.sleep(0.01)
    writer.put({"event": "refused", "level": "warning"})
    writer.stop()
    assert [line["event"] for line in lines(out)][-2:] == ["log_lines_left_out", "refused"]


def test_an_access_log_has_every_line() -> None:
    out = io.StringIO()
    writer = LogWriter(out, json.dumps)
    for _ in range(2 * MOST_REPEATED):
        writer.put({"event": "request", "level": "info"})
    writer.start()
    writer.stop()
    assert len(lines(out)) == 2 * MOST_REPEATED


class ClosedPipe(io.StringIO):
    """A reader that went away."""

    def write(self, text: str) -> int:
        raise BrokenPipeError


def test_a_reader_that_went_away_does_not_stop_the_writer() -> None:
    writer = LogWriter(ClosedPipe(), str)
    writer.start()
    writer.put({"event": "unheard"})
    writer.stop()
