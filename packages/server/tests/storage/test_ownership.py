"""A drill of a restore never removes production's files, whichever place it is given."""

import gzip
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rookery.core.boundary.offload import Threads
from rookery.server.db import migrations
from rookery.server.db.access import load_database_name
from rookery.server.db.backup import Programs
from rookery.server.db.embedded import folder as programs_folder
from rookery.server.db.pool import Queries
from rookery.server.db.target import Target
from rookery.server.disk import StorageAway
from rookery.server.files.backups import (
    BackupFolder,
    BackupTools,
    back_up,
    claim_files,
    restore_backup,
)
from rookery.server.files.blobs import write_blob
from rookery.server.files.games import GameRows, GameStore, GameUpload
from rookery.server.files.ownership import FileOwners, ForeignFiles
from rookery.server.files.places import FilePlace, open_files, open_place
from rookery.server.settings import Settings
from tests.bucket_server import BucketServer
from tests.commands import add_user, run_command
from tests.database import pool_on
from tests.fakes import HandClock, RecordedLog

NOW = datetime(2030, 1, 1, tzinfo=UTC)
UPLOAD = GameUpload("a" * 24, 1, "", 4, NOW)
KNOWN = migrations.load_migrations()


@pytest.fixture(params=["own folder", "shared folder", "bucket"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    """Those of a farm, for each of the places that its files may be in."""
    if request.param == "own folder":
        (tmp_path / "blobs").mkdir()
        return Settings(data=tmp_path)
    if request.param == "shared folder":
        (tmp_path / "shared").mkdir()
        return Settings(data=tmp_path, files_url=str(tmp_path / "shared"))
    server: BucketServer = request.getfixturevalue("bucket_server")
    return Settings(data=tmp_path, files_url=server.url(tmp_path.name))


class Farm:
    """A database with files, as a primary on it has them."""

    def __init__(self, settings: Settings, target: Target, queries: Queries, name: str) -> None:
        self.threads, self.clock, self.log = Threads(), HandClock(), RecordedLog()
        self.owners = FileOwners(name, self.threads, self.log)
        self.place = open_files(settings, self.threads, self.clock, self.log, self.owners)
        self._target, self._queries = target, queries

    @property
    def tools(self) -> BackupTools:
        programs = Programs(programs_folder.find(), {}, self.threads)
        target, queries, clock = self._target, self._queries, self.clock
        return BackupTools(target, queries, self.place, programs, self.threads, clock, print)


def open_farm(settings: Settings, target: Target, queries: Queries, name: str) -> Farm:
    return Farm(settings, target, queries, name)


@pytest.mark.anyio
async def test_a_restored_copy_sweeps_nothing_of_the_original(
    database: Target, bare_database: Target, queries: Queries, settings: Settings
) -> None:
    folder, threads = BackupFolder(settings.data / "backups"), Threads()
    async with pool_on(database) as pool:
        name = await load_database_name(pool, queries)
        farm = await threads.io(open_farm, settings, database, queries, name)
        await farm.owners.look(writes=True)
        backup = await back_up(farm.tools, folder)
        # What comes in after the backup, the restored rows do not name.
        blobs = farm.place.blobs("games")
        late = await threads.files(write_blob, blobs, gzip.compress(b"late"))
        await GameRows(pool, queries).add(replace(UPLOAD, blob=late), ())
    plain = await threads.io(open_place_of, settings, farm)
    await restore_backup(
        replace(farm.tools, target=bare_database), folder, backup.name, known=KNOWN
    )
    async with pool_on(bare_database) as pool:
        drill = await threads.io(
            open_farm, settings, bare_database, queries, await load_database_name(pool, queries)
        )
        with pytest.raises(ForeignFiles):
            await claim_files(drill.tools)
        drill.clock.move(days=100_000)
        store = GameStore(GameRows(pool, queries), drill.place.blobs("games"), threads, drill.clock)
        await store.sweep()
        assert await threads.files(plain.blobs("games").has, late)
        # The same rows sweep it once somebody says that it is theirs: so the mark was the reason.
        await threads.files(plain.mark.write, await load_database_name(pool, queries))
        await drill.owners.look(writes=True)
        await store.sweep()
        assert not await threads.files(plain.blobs("games").has, late)


def open_place_of(settings: Settings, farm: Farm) -> FilePlace:
    """As nobody watches it."""
    return open_files(settings, farm.threads, farm.clock, farm.log)


@pytest.mark.anyio
async def test_a_restore_into_a_new_place_marks_it(
    database: Target, bare_database: Target, queries: Queries, settings: Settings
) -> None:
    folder, threads = BackupFolder(settings.data / "backups"), Threads()
    farm = await threads.io(open_farm, settings, database, queries, "")
    backup = await back_up(farm.tools, folder)
    tools = replace(farm.tools, target=bare_database)
    await restore_backup(tools, folder, backup.name, known=KNOWN)
    await claim_files(tools)
    async with pool_on(bare_database) as pool:
        name = await load_database_name(pool, queries)
    assert await threads.files(farm.place.mark.read) == name


@pytest.mark.anyio
async def test_every_database_of_a_server_has_a_name_of_its_own(
    database: Target, bare_database: Target, queries: Queries
) -> None:
    async with pool_on(database) as here, pool_on(bare_database) as there:
        names = [await load_database_name(pool, queries) for pool in (here, here, there)]
    assert names[0] == names[1] != names[2]


def test_the_mark_of_a_shared_folder_that_is_not_mounted_is_not_missing(tmp_path: Path) -> None:
    settings, folder = Settings(data=tmp_path), tmp_path / "mounted"
    place = open_place(folder, settings, Threads(), HandClock(), RecordedLog())
    with pytest.raises(StorageAway):
        place.mark.read()
    assert not folder.exists()


def test_the_commands_tell_whose_files_they_are_until_somebody_claims_them(
    tmp_path: Path,
) -> None:
    here, there, shared = tmp_path / "here", tmp_path / "there", tmp_path / "shared"
    files = {"ROOKERY_FILES_URL": str(shared)}
    add_user("olga", here)
    shared.mkdir()
    assert run_command("files", "claim", data=here, settings=files).returncode == 0
    saved = run_command("db", "backup", f"--folder={tmp_path / 'b'}", data=here, settings=files)
    assert saved.returncode == 0, saved.stderr
    words = ("db", "restore", f"--folder={tmp_path / 'b'}")
    restored = run_command(*words, data=there, settings=files, first=True)
    assert restored.returncode == 0, restored.stderr
    assert "belong to another database" in restored.stderr
    looked = run_command("doctor", data=there, settings=files).stdout
    assert f"{shared} belongs to another database" in looked
    moved = run_command("files", "move", f"--to={shared}", data=there)
    assert (moved.returncode == 0, "another database" in moved.stderr) == (False, True)
    claimed = run_command("files", "claim", data=there, settings=files)
    assert "belong to this database now" in claimed.stdout
    looked = run_command("doctor", data=there, settings=files).stdout
    assert f"in {shared}" in looked
