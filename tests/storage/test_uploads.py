"""Uploads that break off leave nothing behind."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rookery.boundary.offload import Threads
from rookery.clock import SystemClock
from rookery.files.books import BookReading, BookRefused
from rookery.files.programs import AT_ONCE, NoLook, received
from rookery.files.store import FolderBlobs

pytestmark = pytest.mark.anyio


class Left(Exception):
    """The one who sends has gone."""


async def pieces(count: int, *, then_leave: bool = False) -> AsyncIterator[bytes]:
    for _ in range(count):
        yield bytes(AT_ONCE // 2)
    if then_leave:
        raise Left


@pytest.fixture
def blobs(tmp_path: Path) -> FolderBlobs:
    return FolderBlobs(tmp_path, SystemClock())


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


async def test_all_pieces_are_kept(blobs: FolderBlobs) -> None:
    threads = Threads()
    found, _ = await received(pieces(5), blobs, threads, NoLook())
    kept = await threads.io(blobs.read, found.blob)
    assert len(kept) == found.size == 5 * AT_ONCE // 2


async def test_whoever_leaves_leaves_nothing_behind(blobs: FolderBlobs, tmp_path: Path) -> None:
    threads = Threads()
    with pytest.raises(Left):
        await received(pieces(5, then_leave=True), blobs, threads, NoLook())
    assert await threads.io(files_in, tmp_path) == []


async def test_what_is_refused_is_not_kept(blobs: FolderBlobs, tmp_path: Path) -> None:
    threads = Threads()
    with pytest.raises(BookRefused):
        await received(pieces(5), blobs, threads, BookReading("x.epd"))
    assert await threads.io(files_in, tmp_path) == []


async def test_what_is_given_up_is_not_kept(blobs: FolderBlobs, tmp_path: Path) -> None:
    threads, begun = Threads(), asyncio.Event()

    async def endless() -> AsyncIterator[bytes]:
        yield bytes(AT_ONCE)
        begun.set()
        await asyncio.Event().wait()

    upload = asyncio.ensure_future(received(endless(), blobs, threads, NoLook()))
    await begun.wait()
    upload.cancel()
    with pytest.raises(asyncio.CancelledError):
        await upload
    assert await threads.io(files_in, tmp_path) == []
