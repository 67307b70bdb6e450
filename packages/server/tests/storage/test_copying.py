"""Files are copied from one place to another while rows come and go, and compared with them."""

import gzip
import hashlib
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rookery.core.boundary.offload import Threads
from rookery.core.clock import SystemClock
from rookery.server.db.pool import Pool, Queries
from rookery.server.db.target import Target
from rookery.server.files.blobs import FolderBlobs, read_blob, write_blob
from rookery.server.files.checking import FileCheck
from rookery.server.files.copying import CopiedBlob, CopyCounts, copy_blob, move_files
from rookery.server.files.games import GameRows, GameUpload
from rookery.server.files.places import FOLDER, FilePlace, MovingBlobs, open_place
from rookery.server.logs import SilentLog
from rookery.server.settings import Settings
from tests.bucket_server import BucketServer
from tests.database import pool_on

pytestmark = pytest.mark.anyio

NOW = datetime(2030, 1, 1, tzinfo=UTC)
UPLOAD = GameUpload("a" * 24, 1, "", 4, NOW)
HOUR = 3600.0


def quiet(_counts: CopyCounts) -> None: ...


class TwoPlaces:
    """A folder with files that rows name, and a bucket; made in a thread, for it takes a while."""

    def __init__(self, pool: Pool, queries: Queries, folder: Path, server: BucketServer) -> None:
        self.threads = Threads()
        settings, clock, log = Settings(data=folder), SystemClock(), SilentLog()
        self.old = open_place(folder / FOLDER, settings, self.threads, clock, log)
        address = server.address(folder.name)
        self.new = open_place(address, settings, self.threads, clock, log)
        self.rows = GameRows(pool, queries)
        self.pool, self.queries = pool, queries

    async def upload(self, text: bytes, place: FilePlace | None = None) -> str:
        blobs = (place or self.old).blobs("games")
        key = await self.threads.files(write_blob, blobs, gzip.compress(text))
        await self.rows.add(replace(UPLOAD, blob=key), ())
        return key

    async def move(self, note: Callable[[CopyCounts], object] = quiet) -> CopyCounts:
        return await move_files(self.pool, self.queries, self.old, self.new, self.threads, note)

    async def read(self, place: FilePlace, key: str) -> bytes:
        return gzip.decompress(await self.threads.files(read_blob, place.blobs("games"), key))

    async def check(self, place: FilePlace) -> tuple[int, tuple[str, ...], tuple[str, ...]]:
        """How many games rows name, which are missing, which nobody names."""
        found = FileCheck(self.pool, self.queries, place, self.threads).check(HOUR)
        (games,) = [each async for each in found if each.kind == "games"]
        return games.named, games.missing, games.orphans


async def test_every_file_that_a_row_names_is_moved_once(
    database: Target, queries: Queries, tmp_path: Path, bucket_server: BucketServer
) -> None:
    async with pool_on(database) as pool:
        places = await Threads().io(TwoPlaces, pool, queries, tmp_path, bucket_server)
        keys = [await places.upload(b"games %d" % number) for number in range(20)]
        await places.threads.files(write_blob, places.old.blobs("games"), b"an orphan")
        counts = await places.move()
        assert (counts.copied, counts.there, counts.lost) == (20, 20, [])
        assert [await places.read(places.new, key) for key in keys][7] == b"games 7"
        assert await places.check(places.new) == (20, (), ())
        # What comes in meanwhile is read from either place, and moved the next time.
        late = await places.upload(b"late")
        moving = MovingBlobs(places.new.blobs("games"), places.old.blobs("games"))
        assert gzip.decompress(await places.threads.files(read_blob, moving, late)) == b"late"
        again = await places.move()
        assert (again.copied, again.there) == (1, 21)


async def test_a_move_that_was_interrupted_goes_on_where_it_stopped(
    database: Target, queries: Queries, tmp_path: Path, bucket_server: BucketServer
) -> None:
    class Interrupted(Exception):
        """Somebody had enough."""

    def interrupt(counts: CopyCounts) -> None:
        if counts.copied == 10:
            raise Interrupted

    async with pool_on(database) as pool:
        places = await Threads().io(TwoPlaces, pool, queries, tmp_path, bucket_server)
        for number in range(30):
            await places.upload(b"games %d" % number)
        with pytest.raises(Interrupted):
            await places.move(interrupt)
        counts = await places.move()
        assert counts.copied <= 20
        assert counts.there == 30
        assert await places.check(places.new) == (30, (), ())


async def test_what_is_lost_is_told(
    database: Target, queries: Queries, tmp_path: Path, bucket_server: BucketServer
) -> None:
    async with pool_on(database) as pool:
        places = await Threads().io(TwoPlaces, pool, queries, tmp_path, bucket_server)
        key = await places.upload(b"games")
        await places.threads.files(places.old.blobs("games").remove, key)
        assert (await places.move()).lost == [f"games/{key}"]
        assert await places.check(places.old) == (1, (key,), ())


async def test_a_copy_says_what_it_holds(tmp_path: Path) -> None:
    here, there = (FolderBlobs(tmp_path / name, SystemClock()) for name in ("a", "b"))
    threads = Threads()
    key = await threads.files(write_blob, here, b"games")
    copied = await threads.files(copy_blob, here, there, key)
    assert copied == CopiedBlob(key, 5, hashlib.sha256(b"games").hexdigest())
