"""Reaching the database from a command: external, of a running server, or started just now."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from rookery.storage import external
from rookery.storage.embedded import cluster, sockets
from rookery.storage.embedded.layout import Layout
from rookery.storage.embedded.problems import FolderBusy
from rookery.storage.embedded.server import DATABASE, open_server
from rookery.storage.log import Log, quiet
from rookery.storage.target import Target, socket_target


@asynccontextmanager
async def reach(
    data: Path, database_url: str | None, *, alone: bool = False, log: Log = quiet
) -> AsyncIterator[Target]:
    """The database to work on; `alone` refuses to share a data folder with a running server."""
    async with AsyncExitStack() as stack:
        if database_url is not None:
            target = await external.check(database_url, log=log)
        else:
            target = await _embedded(stack, data, alone=alone, log=log)
        yield target


async def _embedded(stack: AsyncExitStack, data: Path, *, alone: bool, log: Log) -> Target:
    try:
        server = await stack.enter_async_context(open_server(data, log=log))
    except FolderBusy:
        folder = None if alone else sockets.recorded(Layout(data))
        if folder is None:
            raise
        return socket_target(str(folder), sockets.PORT, cluster.USER, DATABASE)
    return server.target
