"""The fixtures of this tier."""

from collections.abc import Iterator

import pytest

from tests.bucket_server import CREDENTIALS, BucketServer, serve_bucket
from tests.database import *  # noqa: F403 they are what it exports
from tests.storage.posts import inside, listener, mail_box, post  # noqa: F401 fixtures


@pytest.fixture(scope="session")
def shared_bucket_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BucketServer]:
    with serve_bucket(tmp_path_factory.mktemp("buckets")) as server:
        yield server


@pytest.fixture
def bucket_server(
    shared_bucket_server: BucketServer, monkeypatch: pytest.MonkeyPatch
) -> BucketServer:
    """An S3 server, with its credentials in the environment."""
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    return shared_bucket_server
