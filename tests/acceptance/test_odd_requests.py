"""Odd requests are answered once each, whatever proxy is in between. `scripts/prove odd-requests`
sends more of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.wire.odd_requests import ROUTES, send_by
from tests.wire.processes import Server, running_server

SEED = 7
STREAMS = 300


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("odd")) as started:
        yield started


@pytest.mark.parametrize("route", ROUTES)
def test_every_request_has_its_own_answer(route: str, server: Server, tmp_path: Path) -> None:
    count = send_by(route, server.place, range(STREAMS), SEED, tmp_path)
    assert count.faults == []
    assert count.requests > STREAMS
