"""Backup and restore: the whole database, or nothing."""

import dataclasses
import os
import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rookery.core.boundary.offload import Threads
from rookery.server.db import migrations
from rookery.server.db.backup import Programs, backup, restore
from rookery.server.db.embedded import folder
from rookery.server.db.lease import Lease
from rookery.server.db.pool import Queries
from rookery.server.db.target import Problem, Target
from rookery.server.identity.users import User, Users
from tests.database import pool_on
from tests.storage.test_migrations import CONTRACTION, NEXT, dump, make_unreleased

pytestmark = pytest.mark.anyio

KNOWN = migrations.load_migrations()
ANNA = User("anna", "a@example.org", "x", frozenset({"a"}), False, False, 4, datetime.now(UTC))


@pytest.fixture
def programs() -> Programs:
    return Programs(folder.find(), {}, Threads())


@pytest.fixture
async def saved(database: Target, queries: Queries, programs: Programs, tmp_path: Path) -> Path:
    """A backup of a database with one user in epoch 1."""
    async with pool_on(database) as pool:
        await Users(pool, queries).add(ANNA)
        await Lease(pool, queries, instance="a", address="").take()
    await backup(database, tmp_path / "saved", programs)
    return tmp_path / "saved"


def cut(file: Path, share: float) -> None:
    os.truncate(file, int(share * file.stat().st_size))


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


async def epoch(target: Target) -> int:
    async with pool_on(target) as pool:
        number: int = await pool.fetchval("SELECT epoch FROM fence")
        return number


async def test_a_backup_restores_into_an_empty_database(
    saved: Path, bare_database: Target, queries: Queries, programs: Programs
) -> None:
    await restore(bare_database, saved, programs, known=KNOWN)
    async with pool_on(bare_database) as pool:
        assert await Users(pool, queries).by_name("anna") == ANNA
        assert await migrations.migrate(bare_database, queries, KNOWN) == ()


async def test_a_backup_is_for_its_owner_alone(saved: Path) -> None:
    # It holds every password's hash, every address and the key of the sessions.
    mode = (await Threads().io(saved.stat)).st_mode
    assert stat.S_IMODE(mode) == 0o600


async def test_a_draft_that_was_left_by_another_does_not_open_a_backup(
    database: Target, programs: Programs, tmp_path: Path
) -> None:
    left = tmp_path / "saved.unfinished"
    await Threads().io(left.touch, 0o666)
    await backup(database, tmp_path / "saved", programs)
    mode = (await Threads().io((tmp_path / "saved").stat)).st_mode
    assert stat.S_IMODE(mode) == 0o600


async def test_a_restored_database_backs_up_the_same(
    saved: Path, database: Target, bare_database: Target, programs: Programs
) -> None:
    await restore(bare_database, saved, programs, known=KNOWN)
    async with pool_on(database) as pool:
        await pool.execute("UPDATE fence SET epoch = 2; UPDATE lease SET epoch = 2")
        await pool.execute("UPDATE lease SET expires_at = '-infinity'")
    assert await dump(bare_database) == await dump(database)


async def test_a_database_that_is_not_empty_is_left_alone(
    saved: Path, database: Target, programs: Programs
) -> None:
    with pytest.raises(Problem, match=r"[0-9]+ tables"):
        await restore(database, saved, programs, known=KNOWN)


async def test_force_replaces_what_is_there(
    saved: Path, database: Target, queries: Queries, programs: Programs
) -> None:
    async with pool_on(database) as pool:
        await pool.execute("CREATE TABLE of_the_future (n int); DELETE FROM users")
        await restore(database, saved, programs, known=KNOWN, force=True)
        assert await Users(pool, queries).by_name("anna") == ANNA
        assert await pool.fetchval("SELECT to_regclass('of_the_future')") is None


async def test_restoring_fences_off_whoever_wrote_before(
    saved: Path, database: Target, programs: Programs
) -> None:
    async with pool_on(database) as pool:
        await pool.execute("UPDATE fence SET epoch = 41")
    await restore(database, saved, programs, known=KNOWN, force=True)
    assert await epoch(database) == 42


@pytest.mark.parametrize("share", [0, 0.02, 0.5, 0.99])
async def test_a_damaged_backup_changes_nothing(
    saved: Path, database: Target, programs: Programs, share: float
) -> None:
    before = await dump(database)
    await Threads().io(cut, saved, share)
    with pytest.raises(Problem, match="as it was"):
        await restore(database, saved, programs, known=KNOWN, force=True)
    assert await dump(database) == before


async def test_a_backup_from_a_newer_rookery_changes_nothing(
    database: Target, queries: Queries, programs: Programs, tmp_path: Path
) -> None:
    await migrations.migrate(database, queries, [*KNOWN, NEXT, CONTRACTION])
    await backup(database, tmp_path / "saved", programs)
    before = await dump(database)
    with pytest.raises(Problem, match="newer Rookery"):
        await restore(database, tmp_path / "saved", programs, known=KNOWN, force=True)
    assert await dump(database) == before


@pytest.mark.parametrize("steps", [1, 31])
async def test_a_backup_of_an_earlier_development_state_changes_nothing(
    database: Target, programs: Programs, tmp_path: Path, steps: int
) -> None:
    await make_unreleased(database, steps)
    await backup(database, tmp_path / "saved", programs)
    before = await dump(database)
    with pytest.raises(Problem, match=r"state of Rookery from before 0\.1, which this"):
        await restore(database, tmp_path / "saved", programs, known=KNOWN, force=True)
    assert await dump(database) == before


async def test_a_backup_that_fails_leaves_no_file(
    database: Target, programs: Programs, tmp_path: Path
) -> None:
    with pytest.raises(Problem, match="No such file"):
        await backup(database, tmp_path / "no folder" / "saved", programs)
    gone = Target("postgresql://rookery@/nowhere?host=/nowhere", {})
    with pytest.raises(Problem, match="connection to server"):
        await backup(gone, tmp_path / "saved", programs)
    assert await Threads().io(names_in, tmp_path) == []


async def test_a_backup_is_restored_where_an_extension_of_it_is_not_to_be_had(
    bare_database: Target, saved: Path, programs: Programs, queries: Queries
) -> None:
    optional = next(each for each in KNOWN if each.extension)
    wanting = dataclasses.replace(optional, sql=optional.sql.replace("pg_trgm", "no_such_thing"))
    here = [wanting if each is optional else each for each in KNOWN]
    await restore(bare_database, saved, programs, known=here)
    assert await migrations.migrate(bare_database, queries, KNOWN) == (optional,)
