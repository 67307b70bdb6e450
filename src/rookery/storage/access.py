"""Reaching the database from a command: external, of a running server, or started just now."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from rookery.storage import external
from rookery.storage.embedded import cluster, sockets
from rookery.storage.embedded.layout import Layout
from rookery.storage.embedded.problems import FolderBusy
from rookery.storage.embedded.server import DATABASE, EmbeddedServer, open_server
from rookery.storage.log import Log, quiet
from rookery.storage.problems import Problem
from rookery.storage.target import Target, socket_target

GivenUp = Callable[[Problem], object]


class NoDatabase(Problem):
    """There is no database in {path}. If a server of this machine keeps its data elsewhere, name
    that folder with --data (or ROOKERY_DATA), or its database with --database-url. What a server
    elsewhere knows is asked from it by the commands that take --server."""


def require_database(data: Path, database_url: str | None) -> None:
    """Raises NoDatabase where reaching the database would make a new one; blocks for a moment."""
    if database_url is None and not Layout(data).cluster.exists():
        raise NoDatabase(path=data)


def ignore(_problem: Problem) -> None:
    """A command notices by itself."""


@asynccontextmanager
async def reach(
    data: Path,
    database_url: str | None,
    *,
    alone: bool = False,
    log: Log = quiet,
    given_up: GivenUp = ignore,
) -> AsyncIterator[Target]:
    """The database to work on; `alone` refuses to share a data folder with a running server.

    `given_up` is told when an embedded server ended for good in the meantime.
    """
    async with AsyncExitStack() as stack:
        if database_url is not None:
            target = await external.check(database_url, log=log)
        else:
            target = await _embedded(stack, data, given_up, alone=alone, log=log)
        yield target


async def _embedded(
    stack: AsyncExitStack, data: Path, given_up: GivenUp, *, alone: bool, log: Log
) -> Target:
    try:
        server = await stack.enter_async_context(open_server(data, log=log))
    except FolderBusy:
        folder = None if alone else sockets.recorded(Layout(data))
        if folder is None:
            raise
        return socket_target(str(folder), sockets.PORT, cluster.USER, DATABASE)
    watching = asyncio.create_task(_watch(server, given_up), name="embedded-postgres watch")
    stack.callback(watching.cancel)
    return server.target


async def _watch(server: EmbeddedServer, given_up: GivenUp) -> None:
    given_up(await server.wait_failed())
