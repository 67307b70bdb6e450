"""Backups with files: what a dump names is there, whatever was removed meanwhile."""

import gzip
import os
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rookery.core.boundary.offload import Threads
from rookery.server.db import migrations
from rookery.server.db.backup import Programs
from rookery.server.db.embedded import folder as programs_folder
from rookery.server.db.pool import Pool, Queries
from rookery.server.db.target import Problem, Target
from rookery.server.files.backups import (
    DUMP,
    FILES,
    LIST,
    BackupFolder,
    BackupTools,
    back_up,
    choose_backup,
    restore_backup,
)
from rookery.server.files.blobs import read_blob, write_blob
from rookery.server.files.checking import FileCheck
from rookery.server.files.copying import CopyCounts
from rookery.server.files.games import GameRows, GameStore, GameUpload
from rookery.server.files.places import FOLDER, open_place
from rookery.server.logs import SilentLog
from rookery.server.settings import Settings
from tests.database import pool_on
from tests.fakes import HandClock

pytestmark = pytest.mark.anyio

KNOWN = migrations.load_migrations()
UPLOAD = GameUpload("a" * 24, 1, "", 4, datetime(2030, 1, 1, tzinfo=UTC))


class Farm:
    """A database with a folder of files."""

    def __init__(self, target: Target, pool: Pool, queries: Queries, folder: Path) -> None:
        self.threads, self.clock, self.pool = Threads(), HandClock(), pool
        self.target, self.queries = target, queries
        settings = Settings(data=folder)
        self.place = open_place(folder / FOLDER, settings, self.threads, self.clock, SilentLog())
        self.blobs = self.place.blobs("games")
        self.rows = GameRows(pool, queries)
        self.store = GameStore(self.rows, self.blobs, self.threads, self.clock)
        self.after_copies: list[CopyCounts] = []

    @property
    def tools(self) -> BackupTools:
        programs = Programs(programs_folder.find(), {}, self.threads)
        return BackupTools(
            self.target,
            self.queries,
            self.place,
            programs,
            self.threads,
            self.clock,
            self.after_copies.append,
        )

    async def upload(self, text: bytes) -> str:
        key = await self.threads.files(write_blob, self.blobs, gzip.compress(text))
        await self.rows.add(replace(UPLOAD, blob=key), ())
        return key

    async def back_up(self, folder: BackupFolder, *, keep: int = 0) -> str:
        self.clock.move(seconds=1)
        return (await back_up(self.tools, folder, keep=keep)).name

    async def missing(self) -> int:
        found = FileCheck(self.pool, self.queries, self.place, self.threads).check(3600.0)
        return sum([len(each.missing) async for each in found])


@asynccontextmanager
async def open_farm(target: Target, queries: Queries, folder: Path) -> AsyncIterator[Farm]:
    async with pool_on(target) as pool:
        yield Farm(target, pool, queries, folder)


async def test_nobody_else_reads_a_backup_in_a_folder_that_others_may_enter(
    database: Target, queries: Queries, tmp_path: Path
) -> None:
    """Private nets are in it, and the digests by which a server gives them to anybody."""
    shared, threads = tmp_path / "backups", Threads()
    # As an earlier version left it.
    await threads.io((shared / FILES).mkdir, mode=0o755, parents=True)
    async with open_farm(database, queries, tmp_path / "data") as farm:
        await farm.upload(b"a game")
        await farm.back_up(BackupFolder(shared))
    modes = await threads.io(_read_modes, shared)
    assert modes == {DUMP: 0o600, LIST: 0o600, FILES: 0o700}


def _read_modes(folder: Path) -> dict[str, int]:
    return {
        path.suffix or path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()
    }


async def test_a_backup_restores_rows_with_their_files(
    database: Target, bare_database: Target, queries: Queries, tmp_path: Path
) -> None:
    folder = BackupFolder(tmp_path / "backups")
    async with open_farm(database, queries, tmp_path / "here") as here:
        keys = [await here.upload(b"games %d" % number) for number in range(5)]
        name = await here.back_up(folder)
        await here.upload(b"after the backup")
        assert await here.threads.io(choose_backup, folder) == name
    async with open_farm(bare_database, queries, tmp_path / "there") as there:
        counts = await restore_backup(there.tools, folder, name, known=KNOWN)
        assert counts.copied == 5
        found = await there.rows.of_task("a" * 24, 1)
        assert [each.blob for each in found] == keys
        assert await there.missing() == 0
        texts = [await there.threads.files(read_blob, there.blobs, key) for key in keys]
        assert gzip.decompress(texts[3]) == b"games 3"
        with pytest.raises(Problem, match="tables, which restoring would replace, and"):
            await restore_backup(there.tools, folder, name, known=KNOWN)


async def test_a_file_that_is_removed_while_a_backup_is_taken_is_in_it_and_goes_later(
    database: Target, bare_database: Target, queries: Queries, tmp_path: Path
) -> None:
    folder = BackupFolder(tmp_path / "backups")
    async with open_farm(database, queries, tmp_path / "here") as here:
        key = await here.upload(b"games")

        class Removing(Programs):
            """The row goes right after the dump was begun, with all that removes files."""

            async def run(self, target: Target, name: str, *arguments: str) -> str:
                said = await super().run(target, name, *arguments)
                if await here.rows.forget([key]):
                    await here.store.discard(key)
                here.clock.move(days=100)
                await here.store.sweep()
                return said

        programs = Removing(programs_folder.find(), {}, here.threads)
        report = await back_up(replace(here.tools, programs=programs), folder)
        assert (report.files, report.lost) == (1, ())
        assert await here.threads.files(here.blobs.has, key)
        await here.store.sweep()
        assert not await here.threads.files(here.blobs.has, key)
    async with open_farm(bare_database, queries, tmp_path / "there") as there:
        await restore_backup(there.tools, folder, report.name, known=KNOWN)
        assert await there.threads.files(there.blobs.has, key)


async def test_backups_share_files_and_old_ones_go(
    database: Target, queries: Queries, tmp_path: Path
) -> None:
    folder = BackupFolder(tmp_path / "backups")
    async with open_farm(database, queries, tmp_path / "here") as here:
        first, kept = await here.upload(b"first"), await here.upload(b"kept")
        await here.back_up(folder)
        if await here.rows.forget([first]):
            await here.store.discard(first)
        names = [await here.back_up(folder, keep=2) for _ in range(2)]
        assert await here.threads.io(folder.names) == names
        assert [each.copied for each in here.after_copies][-1] == 2  # nothing was copied again
        pool = await here.threads.io(lambda: list((folder.path / "files").glob("*/*/*")))
        assert [path.name for path in pool] == [kept]


async def test_a_damaged_file_of_a_backup_is_not_restored(
    database: Target, bare_database: Target, queries: Queries, tmp_path: Path
) -> None:
    folder = BackupFolder(tmp_path / "backups")
    async with open_farm(database, queries, tmp_path / "here") as here:
        key = await here.upload(b"games")
        name = await here.back_up(folder)

        def damage() -> None:
            (path,) = (folder.path / "files").glob(f"*/*/{key}")
            path.write_bytes(b"x" * path.stat().st_size)

        await here.threads.io(damage)
    async with open_farm(bare_database, queries, tmp_path / "there") as there:
        with pytest.raises(Problem, match="damaged"):
            await restore_backup(there.tools, folder, name, known=KNOWN)


def cut_list(folder: BackupFolder, name: str, lines: int) -> None:
    """Leaves so many of its lines; less than none takes lines from the end."""
    path = folder.path / f"{name}.files"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:lines]))


async def test_a_list_that_lacks_lines_is_not_restored(
    database: Target, bare_database: Target, queries: Queries, tmp_path: Path
) -> None:
    folder = BackupFolder(tmp_path / "backups")
    async with open_farm(database, queries, tmp_path / "here") as here:
        await here.upload(b"games")
        name = await here.back_up(folder)

        def take_out_the_file() -> None:
            path = folder.path / f"{name}.files"
            path.write_text(path.read_text().splitlines(keepends=True)[-1])

        await here.threads.io(take_out_the_file)
    async with open_farm(bare_database, queries, tmp_path / "there") as there:
        with pytest.raises(Problem, match="cut short"):
            await restore_backup(there.tools, folder, name, known=KNOWN)


async def test_a_list_without_a_count_is_one_of_an_earlier_version_and_restored(
    database: Target, bare_database: Target, queries: Queries, tmp_path: Path
) -> None:
    folder = BackupFolder(tmp_path / "backups")
    async with open_farm(database, queries, tmp_path / "here") as here:
        key = await here.upload(b"games")
        name = await here.back_up(folder)
        await here.threads.io(cut_list, folder, name, -1)
        assert (await here.threads.io(folder.read_list, name)).count is None
    async with open_farm(bare_database, queries, tmp_path / "there") as there:
        assert (await restore_backup(there.tools, folder, name, known=KNOWN)).copied == 1
        assert await there.threads.files(there.blobs.has, key)


async def test_while_a_list_is_damaged_no_file_of_a_backup_is_removed(
    database: Target, queries: Queries, tmp_path: Path
) -> None:
    folder = BackupFolder(tmp_path / "backups")
    async with open_farm(database, queries, tmp_path / "here") as here:
        await here.upload(b"games")
        await here.back_up(folder)
        damaged = await here.back_up(folder)

        def damage() -> None:
            (folder.path / f"{damaged}.files").write_text("games 00")

        await here.threads.io(damage)
        await here.threads.io(folder.prune, 1)
        kept = await here.threads.io(lambda: list((folder.path / "files").glob("*/*/*")))
        assert (await here.threads.io(folder.names), len(kept)) == ([damaged], 1)


async def test_a_dump_has_its_name_once_its_list_is_on_the_disk(
    database: Target, queries: Queries, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = BackupFolder(tmp_path / "backups")
    synced: list[tuple[str, bool]] = []
    write = os.fsync

    def note(descriptor: int) -> None:
        """What is written to the disk, and whether a dump has its name by then."""
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        synced.append((path.name.partition(".")[2] or path.name, bool(folder.names())))
        write(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    async with open_farm(database, queries, tmp_path / "here") as here:
        await here.back_up(folder)
    assert synced[-3:] == [("files", False), ("backups", False), ("backups", True)]


async def test_a_folder_without_backups_is_told(tmp_path: Path) -> None:
    with pytest.raises(Problem, match="no backup in"):
        await Threads().io(choose_backup, BackupFolder(tmp_path))
