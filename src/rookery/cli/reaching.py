"""Rows that any process may write, from a command: whether a server runs or not."""

import argparse
import asyncio
import secrets
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass

from rookery.boundary.offload import Threads
from rookery.cli.arguments import Subcommands, add_settings, settings_of
from rookery.clock import SystemClock
from rookery.db import access, migrations
from rookery.db.pool import Pool, Queries, open_pool
from rookery.people.accounts import Accounts
from rookery.people.passwords import Passwords
from rookery.people.users import Audit, Tokens, Users
from rookery.settings import Settings


@dataclass(frozen=True, slots=True)
class Reached:
    """What a command works with."""

    settings: Settings
    pool: Pool
    queries: Queries
    accounts: Accounts


Work = Callable[[Reached, argparse.Namespace], Coroutine[None, None, None]]


def add_command(
    commands: Subcommands, name: str, purpose: str, work: Work, *, create: bool = False
) -> argparse.ArgumentParser:
    """A command that works on the database; only with `create` does it make a new one."""
    parser = commands.add(name, purpose, lambda parsed: _run(work, parsed, create=create))
    add_settings(parser, ("data", "database_url"))
    return parser


def _run(work: Work, parsed: argparse.Namespace, *, create: bool) -> int:
    settings = settings_of(parsed)
    if not create:
        access.require_database(settings.data, settings.database_url)
    return asyncio.run(_work_on(settings, work, parsed))


async def _work_on(settings: Settings, work: Work, parsed: argparse.Namespace) -> int:
    async with reach(settings) as reached:
        await work(reached, parsed)
    return 0


@asynccontextmanager
async def reach(settings: Settings) -> AsyncIterator[Reached]:
    """The database of a data folder or an external one; a new one is given its schema."""
    queries, clock = Queries.load(), SystemClock()
    async with access.reach(settings.data, settings.database_url, log=_tell) as target:
        await migrations.migrate(target, queries, migrations.load())
        async with open_pool(target, instance="command", size=2) as pool:
            # Nothing is ever compared with what this key digests.
            passwords = Passwords(Threads(), clock, secrets.token_bytes(32))
            users, tokens = Users(pool, queries), Tokens(pool, queries)
            audit = Audit(pool, queries)
            accounts = Accounts(users, tokens, passwords, clock, secrets.token_bytes, audit)
            yield Reached(settings, pool, queries, accounts)


def _tell(event: str, /, **fields: object) -> None:
    if event == "database_initialising":
        print(f"Making a database in {fields['path']}.", file=sys.stderr)
