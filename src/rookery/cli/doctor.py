"""`rookery doctor`: looks at an installation and at what stands before it, and says in a line each
what is well, what is not, and what to do about it."""

from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from typing import Annotated

from rookery.boundary.offload import Threads
from rookery.cli.check_results import CheckResult, Level, failed, judge_clock, tell, warned, well
from rookery.cli.db import THE_DATABASE, DatabaseSettings, open_target
from rookery.cli.doctor_public import examine_site
from rookery.cli.options import AsJson, BadArgument, option
from rookery.db import access, migrations
from rookery.db.connecting import OwnConnection, connect
from rookery.db.pool import Queries
from rookery.db.target import Problem, Target
from rookery.files.disk import free_bytes
from rookery.http_places import is_web_address
from rookery.people.users import APPROVERS
from rookery.settings import Settings

CONNECT_SECONDS = 10.0
OLD_BACKUP = timedelta(days=2)
LATE_NOTIFICATION = timedelta(minutes=30)
CONNECTIONS_A_SERVER = 12
"""A pool of 10, one that listens, and one for commands."""
MB = 10**6


async def doctor(
    *,
    public: Annotated[
        str, option("look at a site from outside, through its proxy, instead of from here", "URL")
    ] = "",
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
            raise BadArgument(f"An address begins with https://, not {public!r}.")
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
    try:
        await Threads().io(access.require_database, settings.data, settings.database_url)
        async with open_target(settings) as target:
            async for each in examine_database(target):
                yield each
    except Problem as problem:
        yield failed("database", str(problem).rstrip("."), "see docs/database.md")


def check_settings(settings: Settings) -> Iterator[CheckResult]:
    """What can be told from the settings alone."""
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
        advice = "accounts wait for an approver; ROOKERY_SIGN_UP=0 takes nobody in"
        yield warned("sign-up", "anybody may sign up", advice)
    else:
        yield well("sign-up", "closed")
    if settings.simulated_fleet:
        advice = "unset ROOKERY_SIMULATED_FLEET: it is for proofs alone"
        yield failed("simulated fleet", "results count that nobody can have played", advice)


def check_disk(settings: Settings) -> CheckResult:
    """Blocks for a moment."""
    free, reserve = free_bytes(settings.data), settings.disk_reserve_mb * MB
    found = f"{free // MB:,} MB are free at {settings.data}"
    if free < reserve:
        return failed("disk", found, f"uploads are refused below {reserve // MB:,} MB; make room")
    if free < 4 * reserve:
        return warned("disk", found, "make room before uploads are refused")
    return well("disk", found)


async def examine_database(target: Target) -> AsyncIterator[CheckResult]:
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
    finally:
        await connection.close(timeout=5)


async def examine_rows(connection: OwnConnection) -> AsyncIterator[CheckResult]:
    """What the database's own tables tell; nothing but the schema where that is missing."""
    queries, known = await Threads().io(_read_sql)
    yield await check_clock(connection, queries)
    yield await check_connections(connection, queries)
    applied = await migrations.count_applied(connection, queries)
    if applied < len(known):
        found = f"{len(known) - applied} migrations are to be applied"
        yield warned("schema", found, "`rookery serve` does it at its start")
        return
    yield well("schema", f"{applied} migrations are applied")
    for check in (check_primary, check_approvers, check_backup, check_notifications):
        yield await check(connection, queries)


def _read_sql() -> tuple[Queries, tuple[migrations.Migration, ...]]:
    return Queries.load(), migrations.load_migrations()


async def check_clock(connection: OwnConnection, queries: Queries) -> CheckResult:
    before = datetime.now(UTC)
    there: datetime = await connection.fetchval(queries["doctor_clock"])
    return judge_clock("clock", "the database's clock", there, before, datetime.now(UTC))


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


async def check_approvers(connection: OwnConnection, queries: Queries) -> CheckResult:
    count = await connection.fetchval(queries["doctor_approvers"], APPROVERS)
    if not count:
        advice = "rookery user groups NAME approvers"
        return warned("approvers", "nobody can approve runs or accounts", advice)
    return well("approvers", f"{count}")


async def check_backup(connection: OwnConnection, queries: Queries) -> CheckResult:
    made: datetime | None = await connection.fetchval(queries["doctor_backup"])
    advice = "rookery db backup, every day by a timer"
    if made is None:
        return warned("backup", "none was ever made", advice)
    age = datetime.now(UTC) - made
    found = f"the latest is {age // timedelta(hours=1)} hours old"
    return warned("backup", found, advice) if age > OLD_BACKUP else well("backup", found)


async def check_notifications(connection: OwnConnection, queries: Queries) -> CheckResult:
    row = await connection.fetchrow(queries["farm_figures"])
    assert row is not None
    waiting, given_up = row["undelivered"], row["given_up"]
    if given_up or row["undelivered_seconds"] > LATE_NOTIFICATION.total_seconds():
        found = f"{waiting} wait, {given_up} of the last day were given up"
        return warned("notifications", found, "the page Notifications has the reason of each")
    return well("notifications", f"{waiting} wait")
