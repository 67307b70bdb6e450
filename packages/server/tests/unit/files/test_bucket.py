"""Blobs in a bucket, with a bucket in memory; tests/storage has a real one."""

from collections.abc import Iterator
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from rookery.core.boundary.offload import Threads
from rookery.server.files.blobs import UnknownBlob, read_blob, write_blob
from rookery.server.files.bucket import RANGE, Bucket, BucketBlobs
from rookery.server.files.storage_health import StorageHealth
from tests.fakes import HandClock


class MemoryBucket(Bucket):
    """A bucket of a server that may give no ranges."""

    def __init__(self, *, ranges: bool) -> None:
        self._ranges = ranges
        self.kept: dict[str, bytes] = {}
        self.requests = 0

    def put(self, path: str, file: BinaryIO, headers: dict[str, str]) -> None:
        del headers
        self.kept[path] = file.read()

    def read(self, path: str, start: int) -> bytes | None:
        self.requests += 1
        data = self._find(path)
        return data[start : start + RANGE] if self._ranges else None

    def read_whole(self, path: str, start: int) -> Iterator[bytes]:
        data = self._find(path)
        for place in range(start, len(data), RANGE):
            yield data[place : place + RANGE]

    def has(self, path: str) -> bool:
        return path in self.kept

    def remove(self, path: str) -> None:
        self.kept.pop(path, None)

    def list_all(self, folder: str) -> Iterator[Any]:
        modified = datetime(2029, 12, 31, tzinfo=UTC)
        for path, data in self.kept.items():
            if path.startswith(f"{folder}/"):
                yield {"path": path, "size": len(data), "last_modified": modified}

    def sign(self, path: str, seconds: int) -> str:
        return f"https://x/{path}?{seconds}"

    def _find(self, path: str) -> bytes:
        if path not in self.kept:
            raise FileNotFoundError
        return self.kept[path]


def open_blobs(bucket: MemoryBucket) -> BucketBlobs:
    health = StorageHealth("memory", Threads(), HandClock())
    return BucketBlobs(bucket, "games", health, HandClock(), spool=Path("/nowhere"))


@pytest.mark.parametrize("ranges", [True, False])
@pytest.mark.parametrize("size", [0, 5, RANGE, 2 * RANGE + 7])
def test_a_blob_is_read_from_any_place_on(ranges: bool, size: int) -> None:
    bucket = MemoryBucket(ranges=ranges)
    blobs, data = open_blobs(bucket), bytes(number % 251 for number in range(size))
    key = "ab" * 16
    bucket.kept[f"games/ab/{key}"] = data
    assert read_blob(blobs, key) == data
    start = size // 2
    with blobs.open(key, start) as file:
        assert file.read() == data[start:]


def test_a_draft_is_put_when_it_is_whole() -> None:
    bucket = MemoryBucket(ranges=True)
    blobs = open_blobs(bucket)
    draft = blobs.draft()
    draft.write(b"ga")
    draft.write(b"mes")
    assert (draft.open().read(), bucket.kept) == (b"games", {})
    key = draft.keep()
    draft.drop()
    assert bucket.kept == {f"games/{key[:2]}/{key}": b"games"}


def test_what_was_removed_is_unknown() -> None:
    blobs = open_blobs(MemoryBucket(ranges=True))
    key = write_blob(blobs, b"games")
    assert blobs.has(key)
    blobs.remove(key)
    assert not blobs.has(key)
    assert not blobs.has("no key")
    with pytest.raises(UnknownBlob):
        blobs.open(key)


def test_blobs_are_listed_by_age_and_signed() -> None:
    bucket = MemoryBucket(ranges=True)
    blobs = open_blobs(bucket)
    key = write_blob(blobs, b"games")
    bucket.put("nets/cd/" + "cd" * 16, BytesIO(b"net"), {})
    assert [found.key for found in blobs.list_all(older_than_seconds=3600)] == [key]
    assert list(blobs.list_all(older_than_seconds=2 * 86_400)) == []
    assert blobs.sign(key, 60) == f"https://x/games/{key[:2]}/{key}?60"
