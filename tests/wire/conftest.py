"""Async tests run on asyncio; one server process serves all tests that only talk to it."""

from collections.abc import Iterator

import pytest

from tests.wire.processes import Server, running_server


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("server")) as started:
        yield started
