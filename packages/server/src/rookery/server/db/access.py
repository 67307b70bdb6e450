"""Opening the database for a command or the server: an external PostgreSQL, the embedded one of a
running server, or an embedded one that is started now.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, unquote, urlencode, urlsplit

import asyncpg

from rookery.server.db.connecting import NoWritableHost, OwnConnection, connect, describe_failure
from rookery.server.db.embedded import cluster
from rookery.server.db.embedded import folder as sockets
from rookery.server.db.embedded.folder import FolderBusy, Layout
from rookery.server.db.embedded.server import DATABASE, EmbeddedServer, open_server
from rookery.server.db.pool import BROKEN, EventLog, Pool, Queries, quiet
from rookery.server.db.target import Problem, Target, socket_target

# An external PostgreSQL, given by a URL and checked before it is used.

OLDEST = 15
CONNECT_SECONDS = 10.0
PATIENCE_SECONDS = 60.0
"""How long to wait while none of several hosts accepts writes; promoting a standby takes
seconds."""
LOOK_AGAIN_SECONDS = 0.5
READ_WRITE = "read-write"
STANDBYS = "synchronous_standby_names"
ROUNDS = 3
# Errors that only a pooler causes: a statement prepared on one backend is missing on another.
MIXED_UP = (asyncpg.InvalidSQLStatementNameError, asyncpg.DuplicatePreparedStatementError)


BAD_URL = (
    "ROOKERY_DATABASE_URL cannot be read; it looks like "
    "postgresql://user:password@host:5432/name, with special characters in the password "
    "percent-encoded."
)


class DatabaseUnreachable(Problem):
    """No PostgreSQL answers at {place}: {reason}."""


POOLED = (
    "A connection pooler answers at {place} ({sign}), but Rookery needs sessions of its own: "
    "name the PostgreSQL server itself."
)


READ_ONLY = "PostgreSQL at {place} is read-only, such as a standby: name one that accepts writes."


async def check_server(
    url: str,
    *,
    log: EventLog = quiet,
    seconds: float = CONNECT_SECONDS,
    patience: float = PATIENCE_SECONDS,
) -> Target:
    """Check the server of a URL and return its target; raise Problem if Rookery can't use it. With
    several hosts it waits, because one of them may be about to be promoted."""
    target, place = parse_url(url)
    first = await _connect_patiently(target, place, seconds, patience, log)
    try:
        second = await _connect(target, place, seconds)
        try:
            _check_version(first, place)
            await _check_direct(first, second, place)
            await _check_writable(first, place)
            return await _check_durability(first, target, place, log)
        finally:
            await _close(second)
    finally:
        await _close(first)


def parse_url(url: str) -> tuple[Target, str]:
    """Parse a URL into a target, and its hosts and database for messages, without account and
    password."""
    try:
        parts = urlsplit(url)
        options = dict(parse_qsl(parts.query))
        hosts = _hosts_of(parts, options)
    except ValueError:
        raise Problem(BAD_URL) from None  # its text may quote a part of the password
    # An unencoded password ends the host part too early; the rest of it is then in one of these
    # parts.
    torn = "@" in parts.path + parts.query or parts.fragment
    if parts.scheme not in ("postgres", "postgresql") or torn:
        raise Problem(BAD_URL)
    password = parts.password or options.pop("password", None)
    # PostgreSQL's programs need this too: the first of several hosts may be a standby.
    wanted = {} if len(hosts) == 1 else {"target_session_attrs": READ_WRITE}
    dsn = parts._replace(netloc=_account_and_host(parts), query=urlencode(wanted | options))
    arguments = {"dsn": url}
    if "target_session_attrs" not in options:
        arguments["target_session_attrs"] = READ_WRITE
    place = ",".join(f"{host}:{port}" for host, port in hosts) + parts.path
    several = hosts if len(hosts) > 1 else ()
    return Target(
        dsn.geturl(), arguments, None if password is None else unquote(password), several
    ), place


def _hosts_of(parts: SplitResult, options: Mapping[str, str]) -> tuple[tuple[str, int], ...]:
    """Return the hosts and ports of a URL. PostgreSQL takes comma-separated lists of them, in the
    address or as options."""
    listed = parts.netloc.rpartition("@")[2]
    if not listed:
        names = options.get("host", "the local socket").split(",")
        ports = options.get("port", "5432").split(",")
        if len(ports) == 1:
            ports *= len(names)
        return tuple((name, int(port)) for name, port in zip(names, ports, strict=True))
    # Split each host separately: an IPv6 address in brackets contains colons.
    single = [urlsplit(f"//{each}") for each in listed.split(",")]
    return tuple((each.hostname or "", each.port or 5432) for each in single)


def _account_and_host(parts: SplitResult) -> str:
    account, _, host = parts.netloc.rpartition("@")
    return f"{account.partition(':')[0]}@{host}" if account else host


async def _connect_patiently(
    target: Target, place: str, seconds: float, patience: float, log: EventLog
) -> OwnConnection:
    """Connect; with several hosts it waits, because none accepts writes while one is being
    promoted."""
    deadline, told = time.monotonic() + patience, ""
    while True:
        try:
            return await _connect(target, place, seconds)
        except DatabaseUnreachable as problem:
            if not target.hosts or time.monotonic() > deadline:
                raise
            if told != (told := str(problem)):
                log("database_awaited", reason=told, seconds=patience)
        await asyncio.sleep(LOOK_AGAIN_SECONDS)


async def _connect(target: Target, place: str, seconds: float) -> OwnConnection:
    try:
        return await connect(
            target,
            seconds=seconds,
            command_timeout=seconds,
            statement_cache_size=0,
            server_settings={"idle_in_transaction_session_timeout": "1s"},
        )
    except NoWritableHost as error:
        raise DatabaseUnreachable(place=place, reason=error) from None
    except asyncpg.ProtocolViolationError as error:
        raise Problem(POOLED, place=place, sign=error) from None
    except asyncpg.PostgresError as error:
        raise Problem(
            "PostgreSQL at {place} refuses the connection: {reason}.", place=place, reason=error
        ) from None
    except asyncpg.TargetServerAttributeNotMatched:
        raise Problem(READ_ONLY, place=place) from None
    except (OSError, TimeoutError) as error:
        reason = describe_failure(error, seconds)
        raise DatabaseUnreachable(place=place, reason=reason) from None
    except (asyncpg.InterfaceError, ValueError):
        raise Problem(BAD_URL) from None


async def _close(connection: OwnConnection) -> None:
    """Close a connection. This may fail if the other side is not PostgreSQL."""
    with contextlib.suppress(*BROKEN):
        await connection.close(timeout=1)


def _check_version(connection: OwnConnection, place: str) -> None:
    if connection.get_server_version().major < OLDEST:
        found = connection.get_settings().server_version
        raise Problem(
            "PostgreSQL at {place} is version {found}, Rookery needs {wanted} or later.",
            place=place,
            found=found,
            wanted=OLDEST,
        )


async def _check_direct(first: OwnConnection, second: OwnConnection, place: str) -> None:
    """Raise a Problem if two connections share sessions, as behind a transaction pooler.

    It uses the simple query protocol, which every pooler supports.
    """
    try:
        for _ in range(ROUNDS):
            for marked, other in ((first, second), (second, first)):
                if not await _has_own_session(marked, other):
                    raise Problem(POOLED, place=place, sign="sessions change between transactions")
    except MIXED_UP:
        raise Problem(POOLED, place=place, sign="prepared statements get lost") from None


async def _has_own_session(marked: OwnConnection, other: OwnConnection) -> bool:
    mine = f"{id(marked)}"
    seen = f"SELECT 1 WHERE current_setting('rookery.probe', true) = '{mine}'"
    await marked.execute(f"SET rookery.probe = '{mine}'")
    if await marked.execute(seen) != "SELECT 1":  # each transaction went to another backend
        return False
    await other.execute("BEGIN")
    try:
        taken = await other.execute(seen) == "SELECT 1"
        return await marked.execute(seen) == "SELECT 1" and not taken
    finally:
        await other.execute("ROLLBACK")


async def _check_writable(connection: OwnConnection, place: str) -> None:
    if await connection.fetchval("SHOW transaction_read_only") == "on":
        raise Problem(READ_ONLY, place=place)


# The risk of each unsafe setting when it is off, shown at the start and by `rookery doctor`.
UNSAFE = {
    "fsync": "a crash of its machine may destroy the database",
    "full_page_writes": "a crash of its machine may tear pages of the database, unless its disk "
    "never does",
    "synchronous_commit": "a crash may lose results that workers were told are safe; Rookery's "
    "own sessions switch it on",
}
LOCAL = ("local", "remote_write")


async def find_unsafe_settings(connection: OwnConnection, *, several_hosts: bool) -> dict[str, str]:
    """Return the server's settings that may lose data, each with its risk."""
    shown = {name: await connection.fetchval(f"SHOW {name}") for name in (*UNSAFE, STANDBYS)}
    found = {f"{name} = off": why for name, why in UNSAFE.items() if shown[name] == "off"}
    if shown[STANDBYS] and shown["synchronous_commit"] in LOCAL:
        found[f"synchronous_commit = {shown['synchronous_commit']}"] = (
            "its synchronous standby is not waited for until it has written: promoting it may lose "
            "results that workers were told are safe; set it to on"
        )
    if several_hosts and not shown[STANDBYS]:
        found[f"{STANDBYS} is empty"] = (
            "there are several hosts, but none is synchronous: promoting one may lose results "
            "that workers were told are safe"
        )
    return found


async def _check_durability(
    connection: OwnConnection, target: Target, place: str, log: EventLog
) -> Target:
    """Log settings that may lose data. synchronous_commit can be set per session, so it is switched
    on for ours."""
    unsafe = await find_unsafe_settings(connection, several_hosts=bool(target.hosts))
    for setting, meaning in unsafe.items():
        log("database_unsafe", place=place, setting=setting, meaning=meaning)
    if "synchronous_commit = off" in unsafe:
        return replace(target, session={"synchronous_commit": "on"})
    return target


async def load_database_name(connection: "Pool | OwnConnection", queries: Queries) -> str:
    """Return a name that distinguishes this database from every copy of its rows; empty if we may
    not read it."""
    try:
        return str(await connection.fetchval(queries["files_database"]))
    except asyncpg.InsufficientPrivilegeError:
        return ""


OnFailure = Callable[[Problem], object]


def require_database(data: Path, database_url: str | None) -> None:
    """Raise a Problem if opening the database would create a new one. Blocks for a moment."""
    if database_url is None and not Layout(data).cluster.exists():
        raise Problem(
            "There is no database in {path}. If a server of this machine keeps its data "
            "elsewhere, name that folder with --data (or ROOKERY_DATA), or its database with "
            "--database-url. For a server on another machine, use the commands that take "
            "--server.",
            path=data,
        )


def refuse_busy_folder(data: Path, database_url: str | None) -> None:
    """Raise FolderBusy if a server uses the data folder's database; blocks for a moment. A server
    finds out by itself too, but only when it has imported everything."""
    if database_url is None and (holder := sockets.find_live_holder(Layout(data).lock)):
        raise FolderBusy(path=data, pid=holder)


def ignore_failure(_problem: Problem) -> None:
    """Do nothing: a callback for commands, which notice a failed database without it."""


@asynccontextmanager
async def open_target(
    data: Path,
    database_url: str | None,
    *,
    alone: bool = False,
    log: EventLog = quiet,
    on_failure: OnFailure = ignore_failure,
) -> AsyncIterator[Target]:
    """Open the database; `alone` refuses to share a data folder with a running server.

    `on_failure` is called when an embedded server has ended for good.
    """
    async with AsyncExitStack() as stack:
        if database_url is not None:
            target = await check_server(database_url, log=log)
        else:
            target = await _open_embedded(stack, data, on_failure, alone=alone, log=log)
        yield target


async def _open_embedded(
    stack: AsyncExitStack, data: Path, on_failure: OnFailure, *, alone: bool, log: EventLog
) -> Target:
    try:
        server = await stack.enter_async_context(open_server(data, log=log))
    except FolderBusy:
        folder = None if alone else sockets.recorded(Layout(data))
        if folder is None:
            raise
        return socket_target(str(folder), sockets.PORT, cluster.USER, DATABASE)
    watching = asyncio.create_task(_watch(server, on_failure), name="embedded-postgres watch")
    stack.callback(watching.cancel)
    return server.target


async def _watch(server: EmbeddedServer, on_failure: OnFailure) -> None:
    on_failure(await server.wait_failed())
