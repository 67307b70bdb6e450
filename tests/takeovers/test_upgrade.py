"""An upgrade under load from a version before migrations, and back to one that knows fewer of
them: the ledger is exact, and nobody waits long. scripts/prove upgrade repeats it at random."""

import asyncio
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from rookery.server.db.target import Target
from tests.faults.serving import count_corrections
from tests.faults.upgrading import (
    OLD,
    HistoryMissing,
    Version,
    check_out,
    environment_of,
    farm_of,
    later_version,
    newest_migration,
)
from tests.forks import may_fork, run_forked
from tests.rookery_process import environment, run_rookery

pytestmark = pytest.mark.anyio

GAMES = 100


async def test_old_and_new_run_side_by_side_and_take_over_from_one_another(
    tmp_path: Path, may_block_the_loop: None, files_in_a_folder: None
) -> None:
    try:
        old = await asyncio.to_thread(check_out, OLD, tmp_path / "old")
    except HistoryMissing as missing:
        pytest.skip(str(missing))
    later = await asyncio.to_thread(later_version, tmp_path / "migrations")
    newest = await asyncio.to_thread(newest_migration, tmp_path / "migrations")
    async with farm_of(old, tmp_path, runs=4) as farm:
        async with farm.fleet.at_work(12):
            new = await farm.start(later)
            await farm.until_migrated(newest)
            await farm.fleet.wrote_again()
            await farm.replace(farm.servers[0], new, unnoticed=False)
            # An upgrade that is taken back: this version knows two migrations fewer.
            back = await farm.start(Version())
            await asyncio.to_thread(back.until, "schema_newer")
            assert await farm.replace(new, back, unnoticed=True) == 0
            await farm.fleet.wait_for_games(GAMES)
        audit = await farm.audit()
        assert audit.wrong == ()
        assert audit.replayed > 0
        assert await asyncio.to_thread(count_corrections, farm.data) == 0


def run(version: Version, *words: str, settings: Mapping[str, str]) -> tuple[int, str]:
    """The exit code of a command of a version, and what it says."""
    surroundings = environment() | dict(settings) | environment_of(version)
    command = [*version.command, *words]
    if may_fork(command, surroundings):
        done = run_forked(command, env=surroundings)
    else:
        done = subprocess.run(
            command, env=surroundings, capture_output=True, text=True, check=False
        )
    return done.returncode, done.stdout + done.stderr


def test_what_is_taken_away_waits_for_the_last_server_that_uses_it(
    database: Target, tmp_path: Path
) -> None:
    later = later_version(tmp_path / "migrations", contracts=True)
    settings = {"ROOKERY_DATABASE_URL": database.dsn}
    newer = settings | environment_of(later)
    with run_rookery(tmp_path / "old", settings=settings) as old:
        old.until("ready")
        with run_rookery(tmp_path / "new", command=later.command, settings=newer) as new:
            new.until("ready")
            assert new.until("migration_put_off")
            code, said = run(later, "db", "migrate", settings=settings)
            assert (code, "was put off" in said) == (3, True), said
            assert old.stop() == 0
            code, said = run(later, "db", "migrate", settings=settings)
            assert (code, "(narrower)" in said) == (0, True), said
            assert new.get("/readyz")[0] == 200
            code, said = run(Version(), "db", "migrate", settings=settings)
            assert (code, "too old" in said) == (3, True), said
