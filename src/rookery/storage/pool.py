"""The pool of connections on the running loop, with the limits that every session of ours has."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeAlias

import asyncpg
from asyncpg.pool import PoolConnectionProxy

from rookery.storage.log import Log, quiet
from rookery.storage.problems import Problem
from rookery.storage.target import Target

Pool: TypeAlias = "asyncpg.Pool[asyncpg.Record]"
Connection: TypeAlias = "PoolConnectionProxy[asyncpg.Record]"

# The server ends a statement first, then the client gives up, then whoever waits over the bridge.
STATEMENT_SECONDS = 5
COMMAND_SECONDS = 8.0
CONNECT_SECONDS = 10.0
CLOSE_SECONDS = 5.0
LOOK_AGAIN_SECONDS = 0.1

# What a server says or does while it starts, restarts or recovers.
NOT_YET = (asyncpg.CannotConnectNowError, ConnectionError, FileNotFoundError)


class NoConnection(Problem):
    """The database cannot be reached within {seconds} s: {reason}."""


def application_name(instance: str) -> str:
    """Under which name the sessions of one process are found, to end them at a takeover."""
    return f"rookery {instance}"


@asynccontextmanager
async def open_pool(
    target: Target,
    *,
    instance: str,
    size: int = 10,
    connect_seconds: float = CONNECT_SECONDS,
    log: Log = quiet,
) -> AsyncIterator[Pool]:
    """A pool for this loop; closing waits for connections in use, but not for long."""
    pool = await _connect(target, instance, size, connect_seconds)
    try:
        yield pool
    finally:
        await _close(pool, log)


async def _connect(target: Target, instance: str, size: int, seconds: float) -> Pool:
    deadline = time.monotonic() + seconds
    while True:
        try:
            return await asyncpg.create_pool(
                **target.connect_args,
                min_size=1,
                max_size=size,
                timeout=seconds,
                command_timeout=COMMAND_SECONDS,
                server_settings=_session(instance),
            )
        except NOT_YET as error:
            if time.monotonic() > deadline:
                raise NoConnection(seconds=seconds, reason=error) from None
            await asyncio.sleep(LOOK_AGAIN_SECONDS)


def _session(instance: str) -> dict[str, str]:
    return {
        "application_name": application_name(instance),
        # So that a process that is stopped in mid-transaction does not hold up a takeover.
        "idle_in_transaction_session_timeout": "1s",
        "statement_timeout": f"{STATEMENT_SECONDS}s",
        "timezone": "UTC",
    }


async def _close(pool: Pool, log: Log) -> None:
    try:
        await asyncio.wait_for(pool.close(), CLOSE_SECONDS)
    except (TimeoutError, OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        log("pool_cut", reason=repr(error))
        pool.terminate()
