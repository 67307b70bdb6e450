"""`rookery doctor`: checks an installation and what is in front of it, and prints a line for each
check with its outcome and what to do."""

import contextlib
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import Annotated
from urllib.parse import urlsplit

from rookery.core.boundary.offload import Threads
from rookery.core.clock import SystemClock
from rookery.core.command import AsJson, BadArgument, option
from rookery.core.http_places import is_web_address
from rookery.server.app.compiled import NotCompiled, find_compiler, find_folders, load_compiled
from rookery.server.commands.check_results import (
    CLOCK_FAIL_SECONDS,
    CLOCK_WARN_SECONDS,
    MB,
    CheckResult,
    Level,
    failed,
    judge_backup,
    judge_clock,
    judge_disk,
    tell,
    warned,
    well,
)
from rookery.server.commands.db import THE_DATABASE, DatabaseSettings, open_target
from rookery.server.commands.doctor_public import examine_site
from rookery.server.db import access, migrations
from rookery.server.db.connecting import NoWritableHost, OwnConnection, connect
from rookery.server.db.pool import Queries
from rookery.server.db.target import Problem, Target
from rookery.server.disk import StorageAway, free_bytes
from rookery.server.files.places import find_place, open_place
from rookery.server.identity.users import APPROVERS
from rookery.server.logs import SilentLog
from rookery.server.servers.instances import Instance, InstanceRows
from rookery.server.settings import Settings

CONNECT_SECONDS = 10.0
LATE_NOTIFICATION = timedelta(minutes=30)
CONNECTIONS_A_SERVER = 12
"""The database connections of a server: a pool of 10, one that listens, and one for commands."""


async def doctor(
    *,
    public: Annotated[str, option("check a site from outside, through its proxy", "URL")] = "",
    strict: Annotated[bool, option("exit with 1 for warnings too")] = False,
    json: AsJson = False,
    database: DatabaseSettings = THE_DATABASE,
) -> int:
    """Check the installation on this machine, or with --public a site as the world sees it.

    Exit code 0: nothing failed; 1: something did.

    examples:

      rookery doctor
      rookery doctor --public https://farm.example.org
      rookery doctor --database-url postgresql://rookery@db1,db2/rookery --json
    """
    if public:
        if not is_web_address(public):
            raise BadArgument(
                f"--public takes an address that begins with https://, not {public!r}."
            )
        results = await Threads().io(lambda: list(examine_site(public.rstrip("/"))))
    else:
        results = [each async for each in examine_installation(database.read())]
    tell(results, as_json=json)
    worst = {each.level for each in results}
    return int(Level.FAIL in worst or (strict and Level.WARN in worst))


# The installation on this machine: its settings, its disk and its database.


async def examine_installation(settings: Settings) -> AsyncIterator[CheckResult]:
    for each in (*check_settings(settings), await Threads().io(check_disk, settings)):
        yield each
    yield await Threads().io(check_likelihood, settings)
    try:
        await Threads().io(access.require_database, settings.data, settings.database_url)
        async with open_target(settings) as target:
            async for each in examine_database(target, settings):
                yield each
    except Problem as problem:
        yield failed("database", str(problem).rstrip("."), "see docs/database.md")


def check_settings(settings: Settings) -> Iterator[CheckResult]:
    """Yield checks of the settings alone."""
    public = settings.base_url or ""
    if not public:
        advice = "set ROOKERY_BASE_URL to the address that people and workers use"
        yield warned("address", "links lead to this machine", advice)
    elif not public.startswith("https://"):
        yield warned("address", public, "passwords travel in the clear: put a proxy with TLS first")
    else:
        yield well("address", public)
    if public.startswith("https://") and not settings.trusted_proxies:
        advice = "name the proxy in ROOKERY_TRUSTED_PROXIES, else all clients look like one"
        yield failed("proxies", "no proxy is trusted", advice)
    else:
        yield well("proxies", ", ".join(settings.trusted_proxies) or "none")
    if settings.sign_up:
        advice = "approvers decide who gets in; ROOKERY_SIGN_UP=0 switches sign-up off"
        yield warned("sign-up", "anybody can sign up", advice)
    else:
        yield well("sign-up", "closed")
    if settings.simulated_fleet:
        advice = "unset ROOKERY_SIMULATED_FLEET, which is only for proofs"
        yield failed("simulated fleet", "results count that came impossibly fast", advice)


def check_disk(settings: Settings) -> CheckResult:
    """Check the disk. It blocks for a moment."""
    free, reserve = free_bytes(settings.data), settings.disk_reserve_mb * MB
    return judge_disk(free, reserve, f"at {settings.data}")


def check_likelihood(settings: Settings) -> CheckResult:
    """Which form of the likelihood ratio a server uses here. It blocks for a moment."""
    try:
        found = load_compiled(find_folders(settings.data))
    except NotCompiled as error:
        return well("likelihood", f"in Python: {error}")
    if found is not None:
        return well("likelihood", f"in C ({found[1]})")
    if find_compiler() is None:
        return well(
            "likelihood", "in Python: there is no C compiler (a report costs a quarter more)"
        )
    return well("likelihood", "the next start of a server compiles it")


async def examine_database(target: Target, settings: Settings) -> AsyncIterator[CheckResult]:
    connection = await connect(target, seconds=CONNECT_SECONDS)
    try:
        version = connection.get_settings().server_version
        yield well("database", f"PostgreSQL {version} accepts writes")
        unsafe = await access.find_unsafe_settings(connection, several_hosts=bool(target.hosts))
        for setting, meaning in unsafe.items():
            yield warned("durability", setting, meaning)
        if not unsafe:
            yield well("durability", "a commit that was acknowledged is on disk")
        async for each in examine_rows(connection):
            yield each
        yield await check_files(connection, settings)
    finally:
        await connection.close(timeout=5)
    for place in target.hosts:
        yield await check_host(target, place)


async def check_host(target: Target, place: tuple[str, int]) -> CheckResult:
    """Check one of several database hosts: whether it answers, and its clock. It may become the one
    that accepts writes, and would then judge by its clock whether a lease has expired."""
    name = f"host {place[0]}:{place[1]}"
    arguments = {**target.connect_args, "target_session_attrs": "any"}
    alone = replace(target, hosts=(place,), connect_args=arguments)
    try:
        connection = await connect(alone, seconds=CONNECT_SECONDS)
    except NoWritableHost as unreachable:
        return warned(name, str(unreachable), "nothing can fail over to it")
    try:
        return await check_clock(connection, (await Threads().io(migrations.read_sql))[0], name)
    finally:
        await connection.close(timeout=5)


async def examine_rows(connection: OwnConnection) -> AsyncIterator[CheckResult]:
    """Yield checks of the database's tables. Without the schema, only that is reported."""
    queries, known = await Threads().io(migrations.read_sql)
    yield await check_clock(connection, queries)
    yield await check_connections(connection, queries)
    if missing := await migrations.list_missing(connection, queries, known):
        found = f"{len(missing)} migrations are to be applied"
        yield warned("schema", found, "`rookery serve` does it at its start")
        return
    yield well("schema", "all migrations are applied")
    checks = (check_primary, check_servers, check_approvers, check_backup, check_notifications)
    for check in checks:
        yield await check(connection, queries)


async def check_clock(
    connection: OwnConnection, queries: Queries, name: str = "clock"
) -> CheckResult:
    before = datetime.now(UTC)
    there: datetime = await connection.fetchval(queries["doctor_clock"])
    return judge_clock(name, "the database's clock", there, before, datetime.now(UTC))


async def check_connections(connection: OwnConnection, queries: Queries) -> CheckResult:
    row = await connection.fetchrow(queries["doctor_connections"])
    assert row is not None
    found = f"{row['used']} of {row['most']} are in use"
    if row["most"] - row["used"] < CONNECTIONS_A_SERVER:
        advice = f"a server takes {CONNECTIONS_A_SERVER}: raise max_connections"
        return warned("connections", found, advice)
    return well("connections", found)


async def check_primary(connection: OwnConnection, queries: Queries) -> CheckResult:
    row = await connection.fetchrow(queries["lease_read"])
    if row is None or not row["live"]:
        return warned("primary", "no server is primary", "start one: rookery serve")
    return well("primary", f"the server at {row['address'] or row['holder']}")


async def check_servers(connection: OwnConnection, queries: Queries) -> CheckResult:
    return judge_servers(await InstanceRows(connection, queries).list_all())


def judge_servers(found: Sequence[Instance]) -> CheckResult:
    """Check by their addresses and clocks whether the live servers can work together."""
    living = [each for each in found if each.is_alive]
    addresses = [each.address for each in living]
    machines = {each.name.rpartition("-")[0] for each in living}
    advice = "nothing is sent on to a primary there: set ROOKERY_INTERNAL_URL for each server"
    for address in addresses:
        if addresses.count(address) > 1:
            return failed("servers", f"several name the address {address}", advice)
        if len(machines) > 1 and is_loopback(address):
            return failed("servers", f"of one the others see the address {address}", advice)
    return _judge_clocks(living) or well("servers", f"{len(living)} live")


def _judge_clocks(living: Sequence[Instance]) -> CheckResult | None:
    """Return the server whose clock differs most from the database's, if that is too much."""
    worst = max(living, key=lambda each: abs(each.figures.clock_off_seconds), default=None)
    off = 0.0 if worst is None else abs(worst.figures.clock_off_seconds)
    if worst is None or off < CLOCK_WARN_SECONDS:
        return None
    judged = failed if off >= CLOCK_FAIL_SECONDS else warned
    found = f"the clock of {worst.name} is {worst.figures.clock} of the database's"
    return judged("servers", found, "let its machine ask a time server")


def is_loopback(address: str) -> bool:
    host = urlsplit(address).hostname or ""
    with contextlib.suppress(ValueError):
        return ip_address(host).is_loopback
    return host == "localhost"


async def check_files(connection: OwnConnection, settings: Settings) -> CheckResult:
    """Check whether the place of the files answers, and which database it belongs to."""
    threads, clock = Threads(), SystemClock()
    place = await threads.io(
        lambda: open_place(find_place(settings), settings, threads, clock, SilentLog())
    )
    name = await access.load_database_name(connection, await threads.io(Queries.load))
    try:
        owner = await threads.files(place.mark.read)
    except StorageAway as error:
        return failed("files", f"{place.name}: {error}", "uploads and downloads wait for it")
    if owner in {"", name}:
        return well("files", f"in {place.name}")
    advice = "nothing is removed there; once no other farm uses it: rookery files claim"
    return warned("files", f"{place.name} belongs to another database ({owner})", advice)


async def check_approvers(connection: OwnConnection, queries: Queries) -> CheckResult:
    count = await connection.fetchval(queries["doctor_approvers"], APPROVERS)
    if not count:
        advice = "rookery user groups NAME approvers"
        return warned("approvers", "nobody can approve runs or accounts", advice)
    return well("approvers", f"{count}")


async def check_backup(connection: OwnConnection, queries: Queries) -> CheckResult:
    made: datetime | None = await connection.fetchval(queries["doctor_backup"])
    return judge_backup(None if made is None else datetime.now(UTC) - made)


async def check_notifications(connection: OwnConnection, queries: Queries) -> CheckResult:
    row = await connection.fetchrow(queries["farm_figures"])
    assert row is not None
    waiting, given_up = row["undelivered"], row["given_up"]
    if given_up or row["undelivered_seconds"] > LATE_NOTIFICATION.total_seconds():
        found = f"{waiting} wait, {given_up} of the last day were given up"
        return warned("notifications", found, "the page Notifications has the reason of each")
    return well("notifications", f"{waiting} wait")
