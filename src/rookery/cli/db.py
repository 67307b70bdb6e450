"""`rookery db`: migrate, back up, restore or open the database, while a server runs or not."""

import argparse
import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TypeVar

from rookery.boundary.offload import Threads
from rookery.cli.arguments import Subcommands, add_settings, settings_of
from rookery.db import access, backup, migrations
from rookery.db.embedded import folder
from rookery.db.pool import Queries
from rookery.db.target import Target
from rookery.settings import Settings

T = TypeVar("T")
Work = Callable[[Settings, argparse.Namespace], Coroutine[None, None, int]]


EXAMPLES = """\
examples:

  rookery db backup rookery.dump
  rookery db restore rookery.dump --data ./another-folder"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    commands = Subcommands(parser)
    _add(commands, "migrate", "bring the database to the present schema", _migrate)
    saving = _add(commands, "backup", "write everything into one file", _backup, create=False)
    saving.add_argument("file", type=Path, metavar="FILE")
    restoring = _add(commands, "restore", "replace everything by a backup", _restore)
    restoring.add_argument("file", type=Path, metavar="FILE")
    restoring.add_argument(
        "--force", action="store_true", help="replace a database that is not empty"
    )
    _add(commands, "shell", "open psql on the database", _shell, create=False)


def _add(
    commands: Subcommands, name: str, purpose: str, work: Work, *, create: bool = True
) -> argparse.ArgumentParser:
    parser = commands.add(name, purpose, lambda parsed: _run(work, parsed, create=create))
    add_settings(parser, ("data", "database_url"))
    return parser


def _run(work: Work, parsed: argparse.Namespace, *, create: bool) -> int:
    settings = settings_of(parsed)
    if not create:
        access.require_database(settings.data, settings.database_url)
    return asyncio.run(work(settings, parsed))


async def _migrate(settings: Settings, _parsed: argparse.Namespace) -> int:
    async with access.reach(settings.data, settings.database_url, log=_tell) as target:
        await _bring_up_to_date(target)
    return 0


async def _backup(settings: Settings, parsed: argparse.Namespace) -> int:
    file: Path = parsed.file.absolute()
    async with access.reach(settings.data, settings.database_url, log=_tell) as target:
        size = await _with_progress(
            f"Backing up to {file}", backup.backup(target, file, _programs())
        )
    print(f"Wrote {file} ({size:,} bytes).")
    return 0


async def _restore(settings: Settings, parsed: argparse.Namespace) -> int:
    known = migrations.load()
    if not parsed.file.is_file():
        raise backup.RestoreFailed(reason=f"there is no file {parsed.file}")
    reached = access.reach(settings.data, settings.database_url, alone=True, log=_tell)
    async with reached as target:
        work = backup.restore(
            target, parsed.file.absolute(), _programs(), known=known, force=parsed.force
        )
        await _with_progress(f"Restoring {parsed.file}", work)
        await _bring_up_to_date(target)
    print(f"Restored {parsed.file}.")
    return 0


async def _shell(settings: Settings, _parsed: argparse.Namespace) -> int:
    async with access.reach(settings.data, settings.database_url, log=_tell) as target:
        # Ctrl-C ends a query in psql, not this process that holds the database for it.
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, lambda: None)
        psql = await asyncio.create_subprocess_exec(
            str(folder.find() / "psql"),
            f"--dbname={target.dsn}",
            env={**os.environ, **target.program_environment},
        )
        return await psql.wait()


async def _bring_up_to_date(target: Target) -> None:
    done = await migrations.migrate(target, Queries.load(), migrations.load(), log=_tell)
    if not done:
        print("The schema is up to date.")


def _programs() -> backup.Programs:
    return backup.Programs(folder.find(), os.environ, Threads())


async def _with_progress(what: str, work: Coroutine[None, None, T]) -> T:
    """Says that it is still at it, once a second, to someone who watches."""
    began = time.monotonic()
    task = asyncio.create_task(work)
    while not (await asyncio.wait({task}, timeout=1))[0]:
        if sys.stderr.isatty():
            print(f"\r{what}: {time.monotonic() - began:.0f} s", end="", file=sys.stderr)
    if sys.stderr.isatty():
        print(f"\r{what}: {time.monotonic() - began:.1f} s", file=sys.stderr)
    return task.result()


def _tell(event: str, /, **fields: object) -> None:
    """What is worth a line for the person who waits."""
    match event:
        case "database_initialising":
            print(f"Making a database in {fields['path']}.", file=sys.stderr)
        case "migration_applied":
            print(f"Applied migration {fields['number']} ({fields['name']}).")
        case "migration_waits":
            print("Waiting for another process that migrates.", file=sys.stderr)
        case "database_unsafe":
            print(f"Warning: {fields['place']} runs with {fields['setting']}.", file=sys.stderr)
