"""The connection pool with its time limits, the named SQL queries, and the events that db logs."""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import asyncpg
from asyncpg.pool import PoolConnectionProxy

from rookery.server import logs
from rookery.server.db.connecting import Connector
from rookery.server.db.target import Problem, Target
from rookery.server.db.watching import SilenceWatch, WatchedPool

# Logging: an event with fields; its name decides the level.

WARNINGS = frozenset(
    {
        "backlog_dropped",
        "database_down",
        "database_silent",
        "database_supervisor_lost",
        "database_supervisor_stuck",
        "database_unreachable",
        "lease_not_released",
        "lease_not_renewed",
        "listening_interrupted",
        "primacy_lost",
        "state_lost",
    }
)
"""Events that are logged as warnings: temporary trouble."""


class EventLog(Protocol):
    def __call__(self, event: str, /, **fields: object) -> object: ...


def quiet(_event: str, /, **_fields: object) -> None:
    """Discard everything: an EventLog."""


def make_event_log(log: logs.Log) -> EventLog:
    """Write events to a log of levels: those in WARNINGS as warnings, the rest as information."""

    def write(event: str, /, **fields: object) -> object:
        return log.warning(event, **fields) if event in WARNINGS else log.info(event, **fields)

    return write


# Named queries: SQL is kept in files, and each query has a name and a line of purpose.

FOLDER = Path(__file__).parents[1]
"""The server's package: each feature's queries lie in its own folder."""
HEADER = re.compile(r"^-- name: (?P<name>[a-z0-9_]+)\n-- (?P<purpose>\S.*)\n", re.MULTILINE)


BAD_QUERY_FILE = "The query file {path} is malformed: {reason}."


@dataclass(frozen=True, slots=True)
class Query:
    name: str
    purpose: str
    sql: str


class Queries:
    """All queries by name, loaded once at the start."""

    def __init__(self, queries: Iterable[Query]) -> None:
        self._queries: Mapping[str, Query] = {query.name: query for query in queries}

    def __getitem__(self, name: str) -> str:
        return self._queries[name].sql

    def __iter__(self) -> Iterator[Query]:
        return iter(self._queries.values())

    @classmethod
    def load(cls, folder: Path = FOLDER) -> "Queries":
        """Read the files; it blocks, so call it before the loop runs or in a thread."""
        found: dict[str, Query] = {}
        for path in sorted(folder.glob("*.sql") if folder != FOLDER else list_query_files()):
            for query in parse_queries(path.read_text(encoding="utf-8"), path):
                if query.name in found:
                    raise Problem(BAD_QUERY_FILE, path=path, reason=f"{query.name} exists twice")
                found[query.name] = query
        return cls(found.values())


def list_query_files() -> Iterator[Path]:
    """Return the files with queries: all SQL but what makes or restores the schema."""
    return (
        path for path in FOLDER.rglob("*.sql") if "sql" not in path.relative_to(FOLDER).parts[:-1]
    )


def parse_queries(text: str, path: Path) -> list[Query]:
    heads = list(HEADER.finditer(text))
    if text.count("-- name:") != len(heads):
        raise Problem(
            BAD_QUERY_FILE, path=path, reason="each name needs a line of purpose after it"
        )
    ends = [head.start() for head in heads[1:]] + [len(text)]
    return [
        Query(head["name"], head["purpose"], text[head.end() : end].strip())
        for head, end in zip(heads, ends, strict=True)
    ]


Pool: TypeAlias = WatchedPool
Connection: TypeAlias = "PoolConnectionProxy[asyncpg.Record]"

# The order of time limits: the server ends a statement first, then the client gives up, then a
# caller over the bridge.
STATEMENT_SECONDS = 5
COMMAND_SECONDS = 8.0
CONNECT_SECONDS = 10.0
CLOSE_SECONDS = 5.0
LOOK_AGAIN_SECONDS = 0.1

# The driver's errors for a broken connection. It raises an internal error when the server's last
# message arrives between two statements.
CUT = (asyncpg.InterfaceError, asyncpg.InternalClientError, asyncpg.PostgresConnectionError)
# Errors of a server that is restarting or recovering, that ends sessions, or that has become
# read-only.
SERVER_REFUSALS = (
    asyncpg.OperatorInterventionError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.ReadOnlySQLTransactionError,
)
# All errors that a caller sees when a connection breaks.
BROKEN = (OSError, TimeoutError, *CUT)
# All errors of a database that is temporarily unavailable.
AWAY = (*BROKEN, *SERVER_REFUSALS)


class NoConnection(Problem):
    """The database cannot be reached within {seconds} s: {reason}."""


def application_name(instance: str) -> str:
    """Return the name of a process's sessions; a takeover finds and ends them by it."""
    return f"rookery {instance}"


@asynccontextmanager
async def open_pool(
    target: Target,
    *,
    instance: str,
    size: int = 10,
    connect_seconds: float = CONNECT_SECONDS,
    close_seconds: float = CLOSE_SECONDS,
    log: EventLog = quiet,
) -> AsyncIterator[Pool]:
    """Open a pool on this event loop. Closing it waits for connections in use, but not for long."""
    connector: Any = Connector(target)  # asyncpg's types want all its arguments spelled out
    driver_pool = asyncpg.create_pool(
        connect=connector,
        min_size=0,  # else asyncpg complains at length in the log while a server restarts
        max_size=size,
        timeout=connect_seconds,
        command_timeout=COMMAND_SECONDS,
        server_settings=_session(instance),
        reset=_leave_read_only,
    )
    pool = Pool(driver_pool, SilenceWatch(target, log))
    try:
        await driver_pool
        await _wait_for_server(pool, connect_seconds)
        yield pool
    finally:
        await _close(pool, close_seconds, log)


async def _leave_read_only(connection: "asyncpg.Connection[Any]") -> None:
    """Replace the reset that asyncpg runs when a connection is released: our code changes no
    session beyond a transaction, and a reset would cost as much as a query.

    A server that has become read-only says so in its settings; its connections are dropped, so that
    new ones go to the host that accepts writes."""
    if getattr(connection.get_settings(), "default_transaction_read_only", "off") == "on":
        connection.terminate()


async def _wait_for_server(pool: Pool, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while True:
        try:
            await pool.fetchval("SELECT 1")
        except AWAY as error:
            if time.monotonic() > deadline:
                raise NoConnection(seconds=seconds, reason=error) from None
            await asyncio.sleep(LOOK_AGAIN_SECONDS)
        else:
            return


async def read_own_address(pool: Pool, queries: Queries) -> str | None:
    """Return this machine's address as the database sees it; None if they are connected by a local
    socket."""
    found: str | None = await pool.fetchval(queries["pool_own_address"])
    return found


async def answers(pool: Pool, queries: Queries) -> None:
    """Return when the database has answered a trivial query."""
    await pool.fetchval(queries["alive"])


def _session(instance: str) -> dict[str, str]:
    return {
        "application_name": application_name(instance),
        # The fence relies on it, and a database may have another default.
        "default_transaction_isolation": "read committed",
        # A process that is suspended in the middle of a transaction must not hold up a takeover.
        "idle_in_transaction_session_timeout": "1s",
        "statement_timeout": f"{STATEMENT_SECONDS}s",
        "timezone": "UTC",
    }


async def _close(pool: Pool, seconds: float, log: EventLog) -> None:
    try:
        await asyncio.wait_for(pool.close(), seconds)
    except AWAY as error:
        log("pool_cut", reason=repr(error))
        pool.terminate()


def escape_pattern(text: str) -> str:
    """Escape a text so that LIKE matches it literally."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def clean(text: str) -> str:
    """Replace characters that a text column can't store: NUL and lone surrogates."""
    if text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()
