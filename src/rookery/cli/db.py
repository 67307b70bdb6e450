"""Commands on the database, whether a server runs or not: the flags that stand for settings, how
the database is opened, and `rookery db`."""

import asyncio
import os
import secrets
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated

from cyclopts import Group, Parameter
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from rookery.boundary.offload import Threads
from rookery.cli.options import command_group, option
from rookery.clock import SystemClock
from rookery.db import access, backup, migrations
from rookery.db.embedded import folder
from rookery.db.pool import Pool, Queries, open_pool
from rookery.db.target import Target
from rookery.people.accounts import Accounts
from rookery.people.passwords import Passwords
from rookery.people.users import Audit, Tokens, Users
from rookery.settings import SETTINGS, Settings, flag_name, read_settings, variable_name

# Flags that stand for settings: one flag a setting, described by the setting itself.

SETTINGS_GROUP = Group("Settings", "Each can also be given in the environment.", sort_key=9)
_DEFAULTS = Settings()


def setting(name: str) -> Parameter:
    """The flag of a setting, which also names its environment variable."""
    default = getattr(_DEFAULTS, name)
    purpose = SETTINGS[name].purpose
    if isinstance(default, bool):
        metavar, told = "0|1", str(int(default))
    else:
        metavar, told = name.rsplit("_", maxsplit=1)[-1].upper(), str(default or "")
    shown = f" (default: {told})" if told and default != () else ""
    return option(f"{purpose}{shown} [{variable_name(name)}]", metavar, name=flag_name(name))


def switch(name: str) -> Parameter:
    """The flag of a setting that a command line can only turn on."""
    purpose = SETTINGS[name].purpose.removeprefix("1: ")
    return option(f"{purpose} [{variable_name(name)}]", name=flag_name(name))


@Parameter(name="*", group=SETTINGS_GROUP)
@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseSettings:
    """The settings of commands that work on the database."""

    data: Annotated[str | None, setting("data")] = None
    database_url: Annotated[str | None, setting("database_url")] = None

    def read(self) -> Settings:
        """The settings of this process, with the flags that were given."""
        given = {each.name: getattr(self, each.name) for each in fields(self)}
        return read_settings({name: _as_text(value) for name, value in given.items()})


def _as_text(value: str | bool | None) -> str | None:
    if isinstance(value, bool):
        return "1" if value else None
    return value


THE_DATABASE = DatabaseSettings()
"""The one that the environment names, or the usual one."""


@dataclass(frozen=True, slots=True)
class Database:
    """An open database, with its settings and the accounts in it."""

    settings: Settings
    pool: Pool
    queries: Queries
    accounts: Accounts


@asynccontextmanager
async def open_database(
    flags: DatabaseSettings, *, create: bool = False
) -> AsyncIterator[Database]:
    """The database of a data folder or an external one. Only with `create` is a new one made."""
    settings = await Threads().io(_read_settings, flags, create)
    queries, clock = Queries.load(), SystemClock()
    async with open_target(settings) as target:
        await migrations.migrate(target, queries, migrations.load_migrations())
        async with open_pool(target, instance="command", size=2) as pool:
            # Nothing is ever compared with what this key digests.
            passwords = Passwords(Threads(), clock, secrets.token_bytes(32))
            users, tokens = Users(pool, queries), Tokens(pool, queries)
            audit = Audit(pool, queries)
            accounts = Accounts(users, tokens, passwords, clock, secrets.token_bytes, audit)
            yield Database(settings, pool, queries, accounts)


def _read_settings(flags: DatabaseSettings, create: bool) -> Settings:
    settings = flags.read()
    if not create:
        access.require_database(settings.data, settings.database_url)
    return settings


def open_target(settings: Settings, *, alone: bool = False) -> AbstractAsyncContextManager[Target]:
    return access.open_target(settings.data, settings.database_url, alone=alone, log=_tell)


db = command_group(
    "db",
    "Migrate, back up, restore or open the database, while a server runs or not.",
    """\
  rookery db backup rookery.dump
  rookery db restore rookery.dump --data ./another-folder""",
)


@db.command
async def migrate(*, database: DatabaseSettings = THE_DATABASE) -> None:
    """Bring the database to the present schema."""
    async with open_target(database.read()) as target:
        await _bring_up_to_date(target)


@db.command(name="backup")
async def back_up(
    file: Annotated[Path, option("where to write it")],
    /,
    *,
    database: DatabaseSettings = THE_DATABASE,
) -> None:
    """Write everything into one file."""
    place = await Threads().io(file.absolute)
    settings = await Threads().io(_read_settings, database, False)
    async with open_target(settings) as target:
        with _progress(f"Backing up to {place}"):
            size = await backup.backup(target, place, _programs())
    print(f"Wrote {place} ({size:,} bytes).")


@db.command
async def restore(
    file: Annotated[Path, option("what `rookery db backup` wrote")],
    /,
    *,
    force: Annotated[bool, option("replace a database that is not empty")] = False,
    database: DatabaseSettings = THE_DATABASE,
) -> None:
    """Replace everything by a backup."""
    settings, known = database.read(), migrations.load_migrations()
    if not file.is_file():
        raise backup.RestoreFailed(reason=f"there is no file {file}")
    async with open_target(settings, alone=True) as target:
        with _progress(f"Restoring {file}"):
            await backup.restore(target, file.absolute(), _programs(), known=known, force=force)
        await _bring_up_to_date(target)
    print(f"Restored {file}.")


@db.command
async def shell(*, database: DatabaseSettings = THE_DATABASE) -> int:
    """Open psql on the database."""
    settings = await Threads().io(_read_settings, database, False)
    async with open_target(settings) as target:
        # Ctrl-C ends a query in psql, not this process that holds the database for it.
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
    """One of PostgreSQL's own, on this terminal."""
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
def _progress(what: str) -> Iterator[None]:
    """Shows on a terminal that something is under way, and for how long."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        progress.add_task(what, total=None)
        yield


def _tell(event: str, /, **fields: object) -> None:
    """Prints those events that a person who waits should know of."""
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
