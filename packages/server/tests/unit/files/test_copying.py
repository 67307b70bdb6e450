"""Copies of files between two places in memory; tests/storage has real ones."""

from typing import BinaryIO

import pytest

from rookery.core.boundary.offload import Threads
from rookery.core.errors import Complaint
from rookery.server.disk import StorageAway
from rookery.server.files.blobs import read_blob, write_blob
from rookery.server.files.copying import Copier, CopyCounts, copy_blob
from rookery.server.files.places import FilePlace
from rookery.server.files.storage_health import StorageHealth
from tests.fakes import HandClock
from tests.twins.files import MemoryBlobs, MemoryDraft

pytestmark = pytest.mark.anyio


def make_place(blobs: MemoryBlobs) -> FilePlace:
    health = StorageHealth("memory", Threads(), HandClock())
    return FilePlace("memory", health, lambda _kind: blobs)


class Copying:
    """A copier from one memory to another."""

    def __init__(self, target: MemoryBlobs | None = None) -> None:
        self.source, self.target = MemoryBlobs(), target or MemoryBlobs()
        self.counts, self.noted = CopyCounts(), list[int]()
        self.copier = Copier(
            "games",
            make_place(self.source),
            make_place(self.target),
            Threads(),
            self.counts,
            lambda counts: self.noted.append(counts.copied),
        )


async def test_what_the_target_lacks_is_copied() -> None:
    copying = Copying()
    keys = [write_blob(copying.source, b"games %d" % number) for number in range(20)]
    copy_blob(copying.source, copying.target, keys[0])
    await copying.copier.look()
    copied = await copying.copier.copy(keys)
    assert [each.key for each in copied] == keys[1:]
    assert read_blob(copying.target, keys[7]) == b"games 7"
    assert (copying.counts.copied, copying.counts.there) == (19, 1)
    assert copying.noted == list(range(1, 20))


async def test_a_copy_of_another_size_is_made_anew() -> None:
    copying = Copying()
    key = write_blob(copying.source, b"games")
    draft = copying.target.draft(key)
    draft.write(b"half")
    draft.keep()
    await copying.copier.look()
    await copying.copier.copy([key])
    assert read_blob(copying.target, key) == b"games"


async def test_what_the_source_lacks_is_lost() -> None:
    copying = Copying()
    await copying.copier.look()
    assert await copying.copier.copy(["0" * 32]) == []
    assert copying.counts.lost == [f"games/{'0' * 32}"]


class ForgetfulDraft(MemoryDraft):
    def keep(self) -> str:
        del self._data[-1:]
        return super().keep()


class ForgetfulBlobs(MemoryBlobs):
    """Loses the last byte of everything."""

    def draft(self, key: str = "") -> ForgetfulDraft:
        return ForgetfulDraft(self._kept, key)


async def test_a_copy_that_differs_is_removed_and_told() -> None:
    copying = Copying(ForgetfulBlobs())
    key = write_blob(copying.source, b"games")
    with pytest.raises(Complaint, match="differs"):
        await copying.copier.copy([key])
    assert not copying.target.has(key)


class BusyBlobs(MemoryBlobs):
    """Away the first time that it is asked."""

    asked = False

    def open(self, key: str, start: int = 0) -> BinaryIO:
        if not self.asked:
            self.asked = True
            raise StorageAway("for the test")
        return super().open(key, start)


async def test_storage_that_is_away_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rookery.server.files.copying.PAUSE_SECONDS", 0.0)
    copying = Copying(BusyBlobs())
    key = write_blob(copying.source, b"games")
    assert [each.key for each in await copying.copier.copy([key])] == [key]
