"""A server that is told to stop does, whatever it is busy with."""

import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.rookery_process import run_rookery
from tests.wire.processes import Server, read_to_end, running_server, starting_server

STOP_SECONDS = 60
"""Reached in failure alone; what holds the server up would hold it for longer."""


@contextmanager
def busy(server: Server, streams: int, holding: int, crossing: int) -> Iterator[None]:
    """Opens so many of each and begins when the server is seen to work on them."""
    with ExitStack() as stack:
        for path, count in (
            ("/slow/ticks", streams),
            ("/slow/hold/600.0", holding),
            ("/slow/cross/600.0", crossing),
        ):
            for _ in range(count):
                stack.enter_context(server.ask(path))
        wait_for(server, f"rookery_streams_open {streams}.0")
        wait_for(server, f'rookery_threads_running{{name="io"}} {holding + crossing}.0')
        wait_for(server, f"rookery_bridge_inside {crossing}.0")
        yield


def wait_for(server: Server, line: str) -> None:
    ask = b"GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
    while line.encode() not in server.exchange(ask):
        time.sleep(0.05)


@pytest.mark.parametrize("round_", ["once", "twice"])
def test_sigterm_ends_streams_held_threads_and_crossings(tmp_path: Path, round_: str) -> None:
    with running_server(tmp_path) as server, busy(server, streams=100, holding=50, crossing=20):
        server.signal(signal.SIGTERM)
        assert server.wait(STOP_SECONDS) == 0
        assert '"event": "stopped"' in server.logged()


def test_sigterm_ends_streams_of_events(tmp_path: Path) -> None:
    with running_server(tmp_path) as server, ExitStack() as stack:
        wires = [stack.enter_context(server.ask("/api/v1/events")) for _ in range(100)]
        wait_for(server, "rookery_streams_open 100.0")
        server.signal(signal.SIGTERM)
        assert server.wait(STOP_SECONDS) == 0
        assert read_to_end(wires[0]).endswith(b": the server is stopping\n\n\r\n0\r\n\r\n")


def test_a_stop_in_order_does_not_say_that_anything_was_lost(tmp_path: Path) -> None:
    with run_rookery(tmp_path / "data") as server:
        server.until("ready")
        assert server.stop() == 0
        names = [str(one["event"]) for one in server.events()]
        assert "commits_ended" in names
        assert "state_lost" not in names


def test_an_idle_server_stops_at_once(tmp_path: Path) -> None:
    with running_server(tmp_path) as server:
        server.signal(signal.SIGTERM)
        assert server.wait(STOP_SECONDS) == 0


def test_a_request_under_way_is_answered_before_the_end(tmp_path: Path) -> None:
    body = b'{"name":"late"}'
    head = b"POST /api/echo HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    with running_server(tmp_path) as server, server.connect() as wire:
        wire.sendall(head + b"content-length: %d\r\n\r\n" % len(body) + body[:5])
        wait_for(server, "rookery_requests_inside 2.0")
        server.signal(signal.SIGTERM)
        server.until_logged("stop_requested")
        wire.sendall(body[5:])
        answer = read_to_end(wire)
        assert answer.startswith(b"HTTP/1.1 200 OK")
        assert b'"name":"late"' in answer
        assert server.wait(STOP_SECONDS) == 0


def test_a_request_that_takes_too_long_is_told_to_try_again(tmp_path: Path) -> None:
    with running_server(tmp_path) as server, server.ask("/slow/wait/600.0") as wire:
        wait_for(server, "rookery_requests_inside 2.0")
        server.signal(signal.SIGTERM)
        assert read_to_end(wire).startswith(b"HTTP/1.1 503")
        assert server.wait(STOP_SECONDS) == 0


def test_a_stream_says_its_last_words(tmp_path: Path) -> None:
    with running_server(tmp_path) as server, server.ask("/slow/ticks") as wire:
        wait_for(server, "rookery_streams_open 1.0")
        server.signal(signal.SIGTERM)
        assert read_to_end(wire).endswith(b"event: end\ndata:\n\n\r\n0\r\n\r\n")


def test_a_second_interrupt_ends_the_process_at_once(tmp_path: Path) -> None:
    with running_server(tmp_path) as server, server.ask("/slow/hold/600.0"):
        wait_for(server, 'rookery_threads_running{name="io"} 1.0')
        server.signal(signal.SIGINT)
        server.until_logged("stop_requested")
        server.signal(signal.SIGINT)
        assert server.wait(STOP_SECONDS) == 130


def test_a_hangup_changes_nothing(tmp_path: Path) -> None:
    with running_server(tmp_path) as server:
        server.signal(signal.SIGHUP)
        server.until_logged("hangup_ignored")
        wait_for(server, "rookery_primary 1.0")


def test_sigusr1_shows_every_threads_stack(tmp_path: Path) -> None:
    with running_server(tmp_path) as server, server.ask("/slow/hold/600.0"):
        wait_for(server, 'rookery_threads_running{name="io"} 1.0')
        server.signal(signal.SIGUSR1)
        server.until_logged("Current thread")
        assert server.logged().count("Thread 0x") >= 2
        wait_for(server, "rookery_primary 1.0")


def test_a_signal_during_the_start_ends_it(tmp_path: Path) -> None:
    with starting_server(tmp_path, "slow-start") as server:
        server.until_logged("waiting_for_ever")
        server.signal(signal.SIGTERM)
        assert server.wait(STOP_SECONDS) == 0


def test_a_failed_start_is_a_sentence(tmp_path: Path) -> None:
    with running_server(tmp_path, trouble="failing-start") as server:
        assert server.wait() == 3
        assert server.logged() == "The start failed at failing: no disk.\n"


def test_a_step_that_fails_to_stop_shows_in_the_exit_code(tmp_path: Path) -> None:
    with running_server(tmp_path, trouble="failing-stop") as server:
        server.signal(signal.SIGTERM)
        assert server.wait(STOP_SECONDS) == 1
        assert "step_stop_failed" in server.logged()


def test_a_stop_that_blocks_the_loop_is_ended_by_force_and_shown(tmp_path: Path) -> None:
    with running_server(tmp_path, trouble="blocking-stop") as server:
        server.signal(signal.SIGTERM)
        assert server.wait(STOP_SECONDS) == 1
        assert "in block" in server.logged()


def test_a_taken_port_is_a_sentence(tmp_path: Path) -> None:
    with running_server(tmp_path) as first:
        _, port = first.place
        with running_server(tmp_path, port) as second:
            assert second.wait() == 3
            assert second.logged() == (
                f"Another program already listens on 127.0.0.1:{port};"
                " stop it or choose another --port.\n"
            )
