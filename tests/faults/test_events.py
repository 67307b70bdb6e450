"""Streams of events over everything that may go wrong: kills, restarts, readers that never read."""

import json
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import msgspec

from rookery.core.client.client import Client
from rookery.core.client.following import Sent, events_in
from rookery.core.client.transport import HttpApiTransport
from rookery.core.http_failures import CallRefused
from rookery.core.model.plan import Modification
from rookery.core.protocol import v1
from tests.commands import add_user, run_command
from tests.faults.processes import kill
from tests.places import PROJECT
from tests.ports import kept_port
from tests.rookery_process import COMMAND, RookeryProcess, environment, run_rookery
from tests.submissions import SPRT, body
from tests.wire.app_under_test import KNOWN_TOKEN
from tests.wire.processes import Server, running_server

LONG = "x" * 90_000
RUNS = 80
"""Of these together no socket's buffers hold enough."""


def deaf(server: Server) -> socket.socket:
    """A reader that asks for everything and takes nothing."""
    wire = socket.socket()
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    wire.connect(server.place)
    wire.sendall(b"GET /api/v1/events?after=0 HTTP/1.1\r\nhost: localhost\r\n\r\n")
    return wire


def test_readers_that_never_read_hold_up_nobody_and_no_stop(tmp_path: Path) -> None:
    with running_server(tmp_path) as server, ExitStack() as stack:
        client = Client.at(server.address, KNOWN_TOKEN.secret)
        made = [client.submit(body(sprt=SPRT, info=LONG)).id for _ in range(RUNS)]
        for _ in range(20):
            stack.enter_context(closing(deaf(server)))
        reading = Reading(server.address, f"?run={made[-1]}")
        assert reading.run().id == made[-1]
        client.modify(made[-1], Modification(priority=7))
        reading.until(lambda run: run.priority == 7)
        server.signal(signal.SIGTERM)
        assert server.wait() == 0


class Reading:
    """A stream of events read by hand."""

    def __init__(self, server: str, query: str = "", after: str = "") -> None:
        lines = HttpApiTransport(server).lines(f"/api/v1/events{query}", after, 60)
        assert next(lines).startswith(b"retry:")
        self._events = self._noted(events_in(lines))
        self.last = after

    def _noted(self, events: Iterator[Sent]) -> Iterator[Sent]:
        for sent in events:
            self.last = sent.id or self.last
            if sent.event:
                yield sent

    def run(self) -> v1.RunDetails:
        sent = next(self._events)
        assert sent.event == "run"
        return msgspec.json.decode(sent.data, type=v1.RunDetails)

    def until(self, condition: Callable[[v1.RunDetails], bool]) -> v1.RunDetails:
        while not condition(run := self.run()):
            pass
        return run


def token_on(server: RookeryProcess) -> str:
    """Of an approver, made while the server runs."""
    server.until("ready")
    add_user("boris", server.data, "--approver")
    made = run_command("token", "create", "--user", "boris", data=server.data)
    return made.stdout.splitlines()[-1]


def done(act: Callable[[], object]) -> None:
    """As a script that tries again while it is told to."""
    while True:
        try:
            act()
        except CallRefused as refused:
            if refused.status != 503:
                raise
            time.sleep(0.05)
        else:
            return


@contextmanager
def watching(server: RookeryProcess, run_id: str) -> "Iterator[subprocess.Popen[str]]":
    with subprocess.Popen(
        [*COMMAND, "watch", run_id, "--json", "--server", server.address],
        cwd=PROJECT,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as watch:
        try:
            yield watch
        finally:
            watch.kill()


def test_streams_go_on_over_the_database_and_resume_over_the_server(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with kept_port() as port, run_rookery(data, "serve", f"--port={port}") as server:
        token = token_on(server)
        client = Client.at(server.address, token)
        ids = [client.submit(body(sprt=SPRT)).id for _ in range(3)]
        watched, changed, ended = ids
        stream = Reading(server.address)
        with watching(server, watched) as watch:
            assert watch.stdout is not None
            assert json.loads(watch.stdout.readline())["priority"] == 0
            kill(str(server.until("database_ready")["postmaster"]))
            done(lambda: client.modify(watched, Modification(priority=1)))
            stream.until(lambda run: (run.id, run.priority) == (watched, 1))
            assert json.loads(watch.stdout.readline())["priority"] == 1
            server.until("listening_interrupted")
            while "rookery_listening 1.0" not in server.get("/metrics")[1]:
                time.sleep(0.05)
            # A server's sessions outlive it for a moment, so that this may be the first to fail.
            done(lambda: client.modify(changed, Modification(priority=2)))
            done(lambda: client.stop(ended))
            server.kill()
            with run_rookery(data, "serve", f"--port={port}") as again:
                resumed = Reading(again.address, after=stream.last)
                found = {run.id: run for run in (resumed.run(), resumed.run())}
                assert found[changed].priority == 2
                assert found[ended].state == "finished"
                Client.at(again.address, token).stop(watched)
                assert watch.wait(60) == 4
                assert json.loads(watch.stdout.readlines()[-1])["state"] == "finished"
                assert again.blockages() == []
