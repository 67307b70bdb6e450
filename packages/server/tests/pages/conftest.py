"""One server and one browser for all page tests."""

from collections.abc import Iterator

import pytest

from tests.pages.browser import Browser
from tests.wire.processes import Server, running_server


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("server")) as started:
        yield started


@pytest.fixture
def browser(tmp_path_factory: pytest.TempPathFactory) -> Browser:
    return Browser(tmp_path_factory.mktemp("profile"))
