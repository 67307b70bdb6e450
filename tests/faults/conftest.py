"""The fixtures of this tier."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bucket_server import BucketServer, serve_bucket
from tests.database import *  # noqa: F403 they are what it exports


@pytest.fixture
def bucket(tmp_path: Path) -> Iterator[BucketServer]:
    """An S3 server of the test's own."""
    with serve_bucket(tmp_path / "buckets") as server:
        yield server


@pytest.fixture
def files_in_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps files in a folder, for tests of the folder itself, even if the tests run with files in
    S3."""
    monkeypatch.delenv("ROOKERY_FILES_URL", raising=False)
