"""Commands on the database, whether a server runs or not: flags for settings, opening the database,
and `rookery db`."""

import asyncio
import os
import re
import secrets
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated

import asyncpg
from cyclopts import Group, Parameter
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from rookery.core.boundary.offload import Threads
from rookery.core.clock import SystemClock
from rookery.core.command import BadArgument, as_words, command_group, option
from rookery.server.db import access, backup, migrations
from rookery.server.db.embedded import folder
from rookery.server.db.pool import Pool, Queries, open_pool
from rookery.server.db.target import Problem, Target
from rookery.server.farm.findings import FindingKind, FindingRows
from rookery.server.files.backups import (
    BackupFolder,
    BackupReport,
    BackupTools,
    choose_backup,
    claim_files,
    restore_backup,
)
from rookery.server.files.backups import back_up as back_up_all
from rookery.server.files.copying import CopyCounts
from rookery.server.files.ownership import ForeignFiles
from rookery.server.files.places import find_place, make_folder, open_files, refuse_lost_database
from rookery.server.identity.accounts import Accounts
from rookery.server.identity.passwords import Passwords
from rookery.server.identity.users import Audit, Tokens, Users
from rookery.server.logs import SilentLog
from rookery.server.settings import SETTINGS, Settings, flag_name, read_settings, variable_name

# Flags for settings: one flag for each, described by the setting itself.

SETTINGS_GROUP = Group("Settings", "Each can also be set in the environment.", sort_key=9)
_DEFAULTS = Settings()


def setting(name: str) -> Parameter:
    """Return the flag for a setting. Its help also names the environment variable."""
    default = getattr(_DEFAULTS, name)
    purpose = SETTINGS[name].purpose
    if SETTINGS[name].switch:
        purpose = purpose.removeprefix("1: ")
        return option(f"{purpose} [{variable_name(name)}]", name=flag_name(name))
    if isinstance(default, bool):
        metavar, told = "0|1", str(int(default))
    else:
        metavar = name.rpartition("_")[2].upper()
        told = str(default or "")
    shown = f" (default: {told})" if told and default != () else ""
    return option(f"{purpose}{shown} [{variable_name(name)}]", metavar, name=flag_name(name))


@Parameter(name="*", group=SETTINGS_GROUP)
@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseSettings:
    """The settings of commands that work on the database."""

    data: Annotated[str | None, setting("data")] = None
    database_url: Annotated[str | None, setting("database_url")] = None

    def read(self) -> Settings:
        """Return the settings of this process, with the given flags."""
        return read_settings(
            {each.name: _as_text(getattr(self, each.name)) for each in fields(self)}
        )


def _as_text(value: str | bool | None) -> str | None:
    if isinstance(value, bool):
        return "1" if value else None
    return value


THE_DATABASE = DatabaseSettings()
"""The database from the environment, or the default one."""


@dataclass(frozen=True, slots=True)
class Database:
    """An open database, with its settings and its accounts."""

    settings: Settings
    pool: Pool
    queries: Queries
    accounts: Accounts


@asynccontextmanager
async def open_database(
    flags: DatabaseSettings, *, create: bool = False
) -> AsyncIterator[Database]:
    """Yield the database of a data folder, or an external one. A new one is made only with
    `create`; one of an older version is never migrated here, because there is no way back."""
    settings = await Threads().io(_read_settings, flags, create)
    queries, clock = Queries.load(), SystemClock()
    async with open_target(settings) as target:
        await migrations.check_schema(target, queries, migrations.load_migrations(), create=create)
        async with open_pool(target, instance="command", size=2) as pool:
            # A random key is enough, since its digests are never compared with stored ones.
            passwords = Passwords(Threads(), clock, secrets.token_bytes(32))
            users, tokens = Users(pool, queries), Tokens(pool, queries)
            audit = Audit(pool, queries)
            accounts = Accounts(users, tokens, passwords, clock, secrets.token_bytes, audit)
            yield Database(settings, pool, queries, accounts)


def _read_settings(flags: DatabaseSettings, create: bool) -> Settings:
    settings = flags.read()
    if create:
        refuse_lost_database(settings)
    else:
        access.require_database(settings.data, settings.database_url)
    return settings


def open_target(settings: Settings, *, alone: bool = False) -> AbstractAsyncContextManager[Target]:
    return access.open_target(settings.data, settings.database_url, alone=alone, log=_tell)


Note = Callable[[CopyCounts], object]
Folder = Annotated[Path | None, option("folder of backups, which hold the files too", "DIR")]
FILES_A_LINE = 1000
TIME_OF_DAY = re.compile(r"([01]\d|2[0-3]):[0-5]\d", re.ASCII)

db = command_group(
    "db",
    "Migrate, back up, restore or open the database, while a server runs or not.",
    """\
  rookery db backup --folder /srv/backups --keep 14
  rookery db restore --folder /srv/backups --data ./another-folder
  rookery db backup rookery.dump
  rookery db timer --folder /srv/backups --keep 14 --at 03:30 --into /etc/systemd/system""",
)


@db.command
async def migrate(*, database: DatabaseSettings = THE_DATABASE) -> None:
    """Bring the database to the present schema."""
    async with open_target(database.read()) as target:
        await _bring_up_to_date(target)


@db.command(name="backup")
async def back_up(
    file: Annotated[Path | None, option("file to write the database alone to")] = None,
    /,
    *,
    folder: Folder = None,
    keep: Annotated[int, option("with --folder: keep only the newest N; 0: keep all", "N")] = 0,
    database: DatabaseSettings = THE_DATABASE,
) -> int:
    """Write the database and all files into a folder of backups, or the database alone into a
    file. Servers may run."""
    settings = await Threads().io(_read_settings, database, False)
    if folder is not None and file is None:
        async with open_target(settings) as target:
            return await _back_up_with_files(target, settings, folder, keep)
    if file is None or folder is not None:
        raise BadArgument("Give a file or --folder.")
    place = await Threads().io(file.absolute)
    async with open_target(settings) as target:
        with _progress(f"Backing up to {place}"):
            size = await backup.backup(target, place, _programs())
        await _note_backup(target, DumpedDatabase(place.name, size))
    print(f"Wrote {place} ({size:,} bytes). Files are not in it.")
    return 0


async def _back_up_with_files(target: Target, settings: Settings, folder: Path, keep: int) -> int:
    place = BackupFolder(await Threads().io(folder.absolute))
    with copy_progress(f"Backing up to {place.path}") as note:
        done = await back_up_all(await _make_tools(target, settings, note), place, keep=keep)
    await _note_backup(target, done)
    print(
        f"Wrote {place.dump(done.name)} ({done.dump_bytes:,} bytes) with {done.files:,} files"
        f" ({done.file_bytes:,} bytes), {done.copied:,} of them new, in {done.seconds:.1f} s."
    )
    for name in done.lost:
        print(f"missing: {name}", file=sys.stderr)
    return int(bool(done.lost))


@dataclass(frozen=True, slots=True)
class DumpedDatabase:
    """A backup without files."""

    name: str
    dump_bytes: int


async def _note_backup(target: Target, done: BackupReport | DumpedDatabase) -> None:
    """Note the time of the backup for /metrics and `rookery doctor`. A database with another
    version's schema can be backed up too, but is not written to."""
    queries, now = Queries.load(), SystemClock().now()
    with suppress(asyncpg.PostgresError):
        async with open_pool(target, instance="command", size=1) as pool:
            await FindingRows(pool, queries).save(FindingKind.BACKUP, "", done, now)


async def _make_tools(target: Target, settings: Settings, note: Note) -> BackupTools:
    threads, clock = Threads(), SystemClock()
    await threads.io(make_folder, find_place(settings))
    files = await threads.io(open_files, settings, threads, clock, SilentLog())
    return BackupTools(target, Queries.load(), files, _programs(), threads, clock, note)


@db.command
async def restore(
    file: Annotated[Path | None, option("a file that `rookery db backup FILE` wrote")] = None,
    /,
    *,
    folder: Folder = None,
    name: Annotated[
        str, option("with --folder: backup to restore (default: the newest)", "NAME")
    ] = "",
    force: Annotated[bool, option("replace a database that is not empty")] = False,
    database: DatabaseSettings = THE_DATABASE,
) -> None:
    """Restore a backup, which replaces everything."""
    settings, known = database.read(), migrations.load_migrations()
    if folder is not None and file is None:
        await _restore_with_files(settings, BackupFolder(folder.absolute()), name, known, force)
        return
    if file is None or folder is not None:
        raise BadArgument("Give a file or --folder.")
    if not file.is_file():
        raise Problem(backup.RESTORE_FAILED, reason=f"there is no file {file}")
    async with open_target(settings, alone=True) as target:
        with _progress(f"Restoring {file}"):
            await backup.restore(target, file.absolute(), _programs(), known=known, force=force)
        await _bring_up_to_date(target)
    print(f"Restored {file}.")


async def _restore_with_files(
    settings: Settings,
    folder: BackupFolder,
    name: str,
    known: Sequence[migrations.Migration],
    force: bool,
) -> None:
    chosen = choose_backup(folder, name)
    async with open_target(settings, alone=True) as target:
        with copy_progress(f"Restoring {chosen}") as note:
            tools = await _make_tools(target, settings, note)
            counts = await restore_backup(tools, folder, chosen, known=known, force=force)
        await _bring_up_to_date(target)
        try:
            await claim_files(tools)
        except ForeignFiles as foreign:
            print(f"{foreign} Until then nothing is removed there.", file=sys.stderr)
    if (await Threads().io(folder.read_list, chosen)).count is None:
        print(
            "Its list of files does not say how many there are, as those of earlier versions:"
            " `rookery files check` tells whether one is missing.",
            file=sys.stderr,
        )
    print(
        f"Restored {chosen}: {counts.copied:,} files copied"
        f" ({counts.copied_bytes:,} bytes), {counts.there:,} were there."
    )


@db.command
def timer(
    *,
    folder: Annotated[Path, option("folder for the backups", "DIR")],
    keep: Annotated[int, option("how many backups to keep", "N")] = 14,
    at: Annotated[str, option("time of day", "HH:MM")] = "03:30",
    into: Annotated[
        Path | None, option("write both units into this folder (default: show them)", "DIR")
    ] = None,
    database: DatabaseSettings = THE_DATABASE,
) -> None:
    """Make a systemd service and its timer, which back everything up once a day with the settings,
    the account and the data folder of the server.

    examples:

      rookery db timer --folder /srv/backups --data /srv/rookery --into /etc/systemd/system
    """
    from rookery.server.commands.systemd import backup_units

    if TIME_OF_DAY.fullmatch(at) is None:
        raise BadArgument(f"--at takes a time of day such as 03:30, not {at!r}.")
    data = database.read().data.absolute()
    words = (f"--folder={folder.absolute()}", f"--keep={keep}")
    units = backup_units((*words, *as_words(replace(database, data=str(data)))), data, at)
    for name, text in units.items():
        if into is None:
            print(f"# {name}\n{text}")
        else:
            (into / name).write_text(text)
            print(f"Wrote {into / name}.")


@db.command
async def shell(*, database: DatabaseSettings = THE_DATABASE) -> int:
    """Open psql on the database."""
    settings = await Threads().io(_read_settings, database, False)
    async with open_target(settings) as target:
        # Ctrl-C should end a query in psql, but not this process, which keeps the database running.
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, lambda: None)
        return await _run_program(target, "psql", f"--dbname={target.dsn}")


@db.command
async def schema(*, database: DatabaseSettings = THE_DATABASE) -> int:
    """Print the present schema as SQL."""
    settings = await Threads().io(_read_settings, database, False)
    async with open_target(settings) as target:
        words = ("--schema-only", "--no-owner", "--no-privileges", f"--dbname={target.dsn}")
        return await _run_program(target, "pg_dump", *words)


async def _run_program(target: Target, name: str, *words: str) -> int:
    """Run one of PostgreSQL's programs on this terminal."""
    program = await asyncio.create_subprocess_exec(
        str(folder.find() / name), *words, env={**os.environ, **target.program_environment}
    )
    return await program.wait()


async def _bring_up_to_date(target: Target) -> None:
    queries, known = Queries.load(), migrations.load_migrations()
    if not await migrations.migrate(target, queries, known, log=_tell, must_finish=True):
        print("The schema is up to date.")


def _programs() -> backup.Programs:
    return backup.Programs(folder.find(), os.environ, Threads())


@contextmanager
def copy_progress(what: str) -> Iterator[Note]:
    """Show on a terminal how many files were copied; otherwise print a line now and then."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task(what, total=None)

        def note(counts: CopyCounts) -> None:
            told = f"{what}: {counts.copied:,} files, {counts.copied_bytes / 10**6:,.1f} MB"
            progress.update(task, description=told)
            if not console.is_terminal and counts.copied % FILES_A_LINE == 0:
                print(told, file=sys.stderr)

        yield note


@contextmanager
def _progress(what: str) -> Iterator[None]:
    """Show on a terminal what is being done, and the time so far."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        progress.add_task(what, total=None)
        yield


def _tell(event: str, /, **fields: object) -> None:
    """Print the events that matter to a person who waits."""
    match event:
        case "database_initialising":
            print(f"Making a database in {fields['path']}.", file=sys.stderr)
        case "migration_applied":
            print(f"Applied migration {fields['number']} ({fields['name']}).")
        case "migration_waits":
            print("Waiting for another process that migrates.", file=sys.stderr)
        case "migration_held_up" if fields["attempt"] == 1:
            print("Waiting for sessions that are in the way of a migration.", file=sys.stderr)
        case "database_unsafe":
            print(f"Warning: {fields['place']} runs with {fields['setting']}.", file=sys.stderr)
