"""Floods that cost their sender little take no memory that stays. `scripts/prove floods` does the
same for ten minutes each."""

import json
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.wire.floods import CHUNKED, FLOODS, HOST, POST, SMALL, Flood, flood, own_mib, settled_mib
from tests.wire.processes import Server, running_server

SECONDS = 0.6
MOST_GROWTH_MIB = 24
"""Twenty connections may each hold a piece of what was read and of what is to be written."""
MOST_LOGGED = 400_000
WAITING = 100
MOST_WAITING_MIB = 24
"""Much less than a mebibyte for each connection that waits."""


@pytest.fixture(scope="module")
def flooded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("flooded")) as started:
        yield started


@pytest.mark.parametrize("what", FLOODS, ids=lambda what: what.name)
def test_a_flood_takes_no_memory_and_little_of_the_log(flooded: Server, what: Flood) -> None:
    def answers() -> bytes:
        return flooded.exchange(b"GET /healthz HTTP/1.0\r\n\r\n")

    pid = flooded.process.pid
    flood(flooded.place, what, SECONDS)
    before, logged = settled_mib(pid, answers), len(flooded.logged())
    flood(flooded.place, what, SECONDS)
    assert settled_mib(pid, answers) - before < MOST_GROWTH_MIB
    lines = flooded.logged()[logged:].splitlines()
    assert sum(map(len, lines)) < MOST_LOGGED
    assert [line for line in lines if json.loads(line)["level"] == "error"] == []


@pytest.mark.parametrize(
    "begun",
    [
        POST + b"a:b\r\n" * 10_000,
        POST + b"a: " + b"b" * 60_000,
        b"GET /" + b"a" * 60_000,
        POST + CHUNKED + b"1\r\n{\r\n" * 10_000,
        POST + CHUNKED + b"1\r\n{\r\n0\r\n" + b"a:b\r\n" * 10_000,
        b"GET /slow/hold/60 HTTP/1.1\r\n" + HOST + b"\r\n" + SMALL * 1_000,
    ],
    ids=["headers", "a header", "an address", "chunks", "trailers", "requests sent ahead"],
)
def test_requests_that_wait_take_little_memory(flooded: Server, begun: bytes) -> None:
    before = own_mib(flooded.process.pid)
    with ExitStack() as waiting:
        for _ in range(WAITING):
            waiting.enter_context(flooded.connect()).sendall(begun)
        flooded.exchange(b"GET /healthz HTTP/1.0\r\n\r\n")
        assert own_mib(flooded.process.pid) - before < MOST_WAITING_MIB
