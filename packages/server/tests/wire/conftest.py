"""Async tests run on asyncio; one server process serves all tests that only talk to it."""

from collections.abc import Iterator

import pytest

from rookery.core.client.client import Client
from tests.wire.app_under_test import KNOWN_TOKEN
from tests.wire.processes import Server, running_server


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("server")) as started:
        yield started


@pytest.fixture
def client(server: Server) -> Client:
    return Client.at(server.address, KNOWN_TOKEN.secret)


@pytest.fixture
def surroundings(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a person has put into the environment."""
    monkeypatch.setenv("ROOKERY_SERVER", server.address)
    monkeypatch.setenv("ROOKERY_TOKEN", KNOWN_TOKEN.secret)
