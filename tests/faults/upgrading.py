"""Successive servers of several versions on one database, under an active fleet."""

import asyncio
import os
import re
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import asyncpg

from rookery.server.db.migrations import FOLDER, load_migrations
from rookery.server.db.target import Target
from tests.database import running
from tests.faults.serving import end_servers, made_account, start_server, wait_for_port
from tests.fleet.audit import Audit
from tests.fleet.connections import Connections
from tests.fleet.fleet import SimulatedFleet
from tests.places import IMPORTED, PROJECT
from tests.rookery_process import COMMAND, LIMIT_SECONDS, SIMULATED, RookeryProcess

OLD = "4eea074f"
"""The commit from before there were migrations whose databases are upgraded."""
TABLE = re.compile(r"^CREATE TABLE (\w+)", re.MULTILINE)
NEWEST = "SELECT max(number) FROM schema_migrations"
LOOK_SECONDS = 0.01
SERVER = "packages/server/src/rookery/server"
SERVER_BEFORE = "src/rookery"
"""Where a server lay before there were packages."""
NO_MORE: Mapping[str, str] = MappingProxyType({})


class HistoryMissing(Exception):
    """The code of an earlier commit is not available."""


@dataclass(frozen=True, slots=True)
class Version:
    """A version of Rookery: its command and the folder of its code."""

    command: tuple[str, ...] = COMMAND
    folder: Path = PROJECT

    @property
    def imported(self) -> str:
        """What PYTHONPATH needs for it. Older versions lie in one package."""
        sources = sorted(self.folder.glob("packages/*/src")) or [self.folder / "src"]
        return os.pathsep.join(map(str, sources))

    @property
    def stands_by(self) -> bool:
        """Whether it can stand by: forwards to another primary and hands over when it stops."""
        places = ("servers/instances.py", "farm/instances.py")
        return any((self._server / each).exists() for each in places)

    @property
    def migrations(self) -> Path:
        """The folder of its migrations."""
        return self._server / "db" / "sql" / "migrations"

    @property
    def _server(self) -> Path:
        found = self.folder / SERVER
        return found if found.is_dir() else self.folder / SERVER_BEFORE


def find_previous() -> str:
    """The last commit with another schema than this one's."""
    ours = {path.name for path in FOLDER.glob("*.sql")}
    folders = [f"{each}/db/sql/migrations" for each in (SERVER, SERVER_BEFORE)]
    changed = read_git("log", "--format=%h", "--", *folders).split()
    for commit, before in zip(changed, [*changed[1:], ""], strict=True):
        if before and list_migrations(before, folders) != ours:
            return read_git("rev-parse", "--short", f"{commit}~1").strip()
    raise HistoryMissing("git knows no commit with another schema: use a whole clone")


def list_migrations(commit: str, folders: Sequence[str]) -> set[str]:
    """The names of a commit's migrations, wherever they lay."""
    words = ("ls-tree", "-r", "--name-only", commit, "--", *folders)
    return {Path(each).name for each in read_git(*words).splitlines()}


def read_git(*words: str) -> str:
    """The output of a git command; raises HistoryMissing if it fails."""
    ran = subprocess.run(("git", *words), cwd=PROJECT, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise HistoryMissing(ran.stderr.strip())
    return ran.stdout


def find_last_commit() -> str:
    """The commit before this one; if git lacks it, as in `find_previous`."""
    words = ("git", "rev-parse", "--short", "--verify", "HEAD~1")
    found = subprocess.run(words, cwd=PROJECT, capture_output=True, text=True, check=False)
    return find_previous() if found.returncode else found.stdout.strip()


def is_shallow() -> bool:
    """Whether this is a shallow clone."""
    words = ("git", "rev-parse", "--is-shallow-repository")
    found = subprocess.run(words, cwd=PROJECT, capture_output=True, text=True, check=False)
    return found.stdout.strip() == "true"


def check_out(commit: str, folder: Path) -> Version:
    """Checks out the code of an earlier commit from this clone's history."""
    folder.mkdir()
    parts = {"src", "packages", "locks", "docs"}
    held = [each for each in read_git("ls-tree", "--name-only", commit).split() if each in parts]
    words = ("git", "archive", commit, *held)
    packed = subprocess.run(words, cwd=PROJECT, capture_output=True, check=False)
    if packed.returncode:
        raise HistoryMissing(
            f"the code of {commit} is needed as the old version, and git does not have it here"
            f" ({packed.stderr.decode().strip()}): use a clone with its whole history"
            " (git fetch --unshallow)"
        )
    subprocess.run(("tar", "-x"), cwd=folder, input=packed.stdout, check=True)
    return Version(folder=folder)


def later_version(folder: Path, *, contracts: bool = False) -> Version:
    """A version after this one, which adds a column to every table and an index to a busy one; with
    `contracts` it also removes what only earlier versions use."""
    folder.mkdir()
    following, baseline = load_migrations()[-1].number + 1, FOLDER / "0001_baseline.sql"
    tables = TABLE.findall(baseline.read_text())
    widened = "".join(
        f"ALTER TABLE {table} ADD COLUMN later_word text NOT NULL DEFAULT 'later';\n"
        for table in tables
    )
    (folder / f"{following:04}_wider.sql").write_text(f"-- expand: wider tables.\n{widened}")
    (folder / f"{following + 1:04}_index.sql").write_text(
        "-- expand concurrently: an index that nobody needs.\n"
        "CREATE INDEX CONCURRENTLY IF NOT EXISTS later_index ON tasks (created, games);\n"
    )
    if contracts:
        (folder / f"{following + 2:04}_narrower.sql").write_text(
            f"-- contract after {following:04}: a word that only older code would read.\n"
            "ALTER TABLE lease DROP COLUMN later_word;\n"
        )
    return Version((sys.executable, "-m", "tests.faults.newer_serve", str(folder)))


def newest_migration(folder: Path) -> int:
    """The number of the last migration in a folder; 1 for a version without any, which has a single
    schema."""
    return max((each.number for each in load_migrations(folder)), default=1)


@dataclass(slots=True)
class Upgrading:
    """A database and a fleet, with successive servers of several versions."""

    folder: Path
    target: Target
    fleet: SimulatedFleet
    servers: list[RookeryProcess] = field(default_factory=list)
    more: Mapping[str, str] = field(default_factory=dict)
    """Further settings of every server."""

    @property
    def data(self) -> Path:
        """The data folder of every server."""
        return self.folder / "data"

    @property
    def settings(self) -> dict[str, str]:
        return SIMULATED | {"ROOKERY_DATABASE_URL": self.target.dsn} | dict(self.more)

    async def start(self, version: Version) -> RookeryProcess:
        """Starts another server, without waiting for it."""
        settings = self.settings | environment_of(version)
        server = await start_server(self.data, settings, version.command)
        self.servers.append(server)
        return server

    async def follow(self, server: RookeryProcess) -> None:
        """Lets the fleet call this server from now on; returns when it has written for it."""
        self.fleet.lines.move(await wait_for_port(server))
        if self.fleet.workers:
            await self.fleet.wrote_again()

    async def until_migrated(self, number: int) -> None:
        """Waits until a migration is applied, by any server."""
        connection = await asyncpg.connect(**self.target.connect_args)
        deadline = time.monotonic() + LIMIT_SECONDS
        try:
            while await connection.fetchval(NEWEST) < number:
                assert time.monotonic() < deadline, "the migration does not come to its end"
                await asyncio.sleep(LOOK_SECONDS)
        finally:
            await connection.close()

    async def replace(self, old: RookeryProcess, new: RookeryProcess, *, unnoticed: bool) -> int:
        """Stops the old server so that the new one takes over; returns how many calls had no
        answer. With `unnoticed`, because the old one hands over, the fleet calls the new one before
        that, which forwards."""
        if unnoticed:
            await self.follow(new)
        refused = self.fleet.lines.refused
        assert await asyncio.to_thread(old.stop) == 0
        if unnoticed:
            await self.fleet.wrote_again()
        else:
            await self.follow(new)
        return self.fleet.lines.refused - refused

    async def audit(self) -> Audit:
        """Audits the server, while no worker is active."""
        return await self.fleet.audit(self.folder / "postgres")


def environment_of(version: Version) -> dict[str, str]:
    """What its processes need to find it; those of this code may be forks (tests/forks.py)."""
    if version.folder == PROJECT:
        return {"PYTHONPATH": IMPORTED}
    return {"PYTHONPATH": f"{version.imported}{os.pathsep}{PROJECT}"}


@asynccontextmanager
async def farm_of(
    version: Version, folder: Path, *, runs: int, more: Mapping[str, str] = NO_MORE
) -> AsyncIterator[Upgrading]:
    """Runs a farm that a server of this version has created, with runs to play."""
    postgres = running(folder / "postgres")
    target = await asyncio.to_thread(postgres.__enter__)
    try:
        settings = {"ROOKERY_DATABASE_URL": target.dsn} | environment_of(version)
        account = await asyncio.to_thread(made_account, folder / "data", settings=settings)
        lines = Connections(token=account.token)
        upgrading = Upgrading(folder, target, SimulatedFleet(account, lines), more=more)
        try:
            await upgrading.follow(await upgrading.start(version))
            await upgrading.fleet.submit(runs)
            yield upgrading
        finally:
            lines.close()
            await end_servers(upgrading.servers)
    finally:
        await asyncio.to_thread(postgres.__exit__, None, None, None)
