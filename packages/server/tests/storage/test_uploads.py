"""Uploads that break off leave nothing behind."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rookery.core.boundary.offload import Threads
from rookery.core.clock import SystemClock
from rookery.server.files.blobs import FolderBlobs, read_blob
from rookery.server.files.books import BookReader
from rookery.server.files.store import GATHERED_BYTES, FileRefused, receive

pytestmark = pytest.mark.anyio


class AnyContent:
    """Stores an upload as it is, without any check."""

    def feed(self, data: bytes) -> bytes:
        return data

    def finish(self) -> bytes:
        return b""


class Left(Exception):
    """The one who sends has gone."""


async def pieces(count: int, *, then_leave: bool = False) -> AsyncIterator[bytes]:
    for _ in range(count):
        yield bytes(GATHERED_BYTES // 2)
    if then_leave:
        raise Left


@pytest.fixture
def blobs(tmp_path: Path) -> FolderBlobs:
    return FolderBlobs(tmp_path, SystemClock())


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


async def test_all_pieces_are_kept(blobs: FolderBlobs) -> None:
    threads = Threads()
    found = await receive(pieces(5), blobs, threads, AnyContent())
    kept = await threads.io(read_blob, blobs, found.blob)
    assert len(kept) == found.size == 5 * GATHERED_BYTES // 2


async def test_whoever_leaves_leaves_nothing_behind(blobs: FolderBlobs, tmp_path: Path) -> None:
    threads = Threads()
    with pytest.raises(Left):
        await receive(pieces(5, then_leave=True), blobs, threads, AnyContent())
    assert await threads.io(files_in, tmp_path) == []


async def test_what_is_refused_is_not_kept(blobs: FolderBlobs, tmp_path: Path) -> None:
    threads = Threads()
    with pytest.raises(FileRefused):
        await receive(pieces(5), blobs, threads, BookReader("x.epd"))
    assert await threads.io(files_in, tmp_path) == []


async def test_what_is_given_up_is_not_kept(blobs: FolderBlobs, tmp_path: Path) -> None:
    threads, begun = Threads(), asyncio.Event()

    async def endless() -> AsyncIterator[bytes]:
        yield bytes(GATHERED_BYTES)
        begun.set()
        await asyncio.Event().wait()

    upload = asyncio.ensure_future(receive(endless(), blobs, threads, AnyContent()))
    await begun.wait()
    upload.cancel()
    with pytest.raises(asyncio.CancelledError):
        await upload
    assert await threads.io(files_in, tmp_path) == []
