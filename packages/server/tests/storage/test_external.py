"""A server named by URL: what Rookery cannot use is refused with its reason, never the password."""

import socket
from pathlib import Path

import asyncpg
import pytest

from rookery.server.db import access, connecting
from rookery.server.db.access import DatabaseUnreachable, parse_url
from rookery.server.db.fence import is_outage
from rookery.server.db.pool import open_pool
from rookery.server.db.target import Problem, Target
from tests.database import statement
from tests.storage.pooler import pooled

pytestmark = pytest.mark.anyio

SECRET = "5ecret"


async def test_a_server_that_fits_is_reached(database: Target) -> None:
    assert (await access.check_server(database.dsn)).dsn == database.dsn


async def test_a_server_that_does_not_answer_is_named() -> None:
    with pytest.raises(
        DatabaseUnreachable, match=r"127\.0\.0\.1:1/games: Connection refused"
    ) as caught:
        await access.check_server(f"postgresql://anna:{SECRET}@127.0.0.1:1/games")
    assert SECRET not in str(caught.value)


async def test_a_server_that_is_silent_is_given_up(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / ".s.PGSQL.1"))
        listening.listen()
        with pytest.raises(DatabaseUnreachable, match=r"no answer within 0\.2 s"):
            await access.check_server(f"postgresql://anna@/x?host={tmp_path}&port=1", seconds=0.2)


async def test_a_server_that_refuses_says_why(database: Target) -> None:
    wrong = database.dsn.replace("/test_", "/nowhere_")
    with pytest.raises(Problem, match=r'database "nowhere_.*does not exist'):
        await access.check_server(wrong)


async def test_an_old_server_is_refused(database: Target, tmp_path: Path) -> None:
    async with pooled(database, tmp_path, version="14.9") as url:
        with pytest.raises(Problem, match=r"is version 14\.9, Rookery needs 15"):
            await access.check_server(url)


@pytest.mark.parametrize("newest_first", [True, False])
async def test_a_transaction_pooler_is_refused(
    database: Target, tmp_path: Path, newest_first: bool
) -> None:
    async with pooled(database, tmp_path, newest_first=newest_first) as url:
        with pytest.raises(Problem, match="connection pooler"):
            await access.check_server(url)


async def test_a_read_only_server_is_refused(database: Target) -> None:
    name = database.connect_args["database"]
    await statement(database, f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    with pytest.raises(Problem, match="is read-only, such as a standby:"):
        await access.check_server(database.dsn)


async def test_a_server_that_may_lose_commits_is_mentioned(database: Target) -> None:
    name = database.connect_args["database"]
    await statement(database, f"ALTER DATABASE {name} SET synchronous_commit = off")
    said: list[object] = []

    def log(_event: str, /, **fields: object) -> None:
        said.append(fields["setting"])

    target = await access.check_server(database.dsn, log=log)
    assert "synchronous_commit = off" in said
    async with open_pool(target, instance="test") as pool:
        assert await pool.fetchval("SHOW synchronous_commit") == "on"


# Several hosts, of which one accepts writes.


def among(hosts: str, database: Target) -> str:
    name, port = database.connect_args["database"], database.connect_args["port"]
    return f"postgresql://rookery@/{name}?host={hosts}&port={port}"


async def test_of_several_hosts_the_one_that_answers_is_used(
    database: Target, tmp_path: Path
) -> None:
    alive = database.connect_args["host"]
    target = await access.check_server(among(f"{tmp_path},{alive}", database))
    async with open_pool(target, instance="test") as pool:
        assert await pool.fetchval("SELECT 1") == 1


async def test_a_host_that_is_silent_does_not_keep_us_from_the_next(
    database: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connecting, "HOST_SECONDS", 0.2)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / f".s.PGSQL.{database.connect_args['port']}"))
        listening.listen()
        url = among(f"{tmp_path},{database.connect_args['host']}", database)
        assert (await access.check_server(url)).hosts


async def test_where_no_host_accepts_writes_it_is_waited_for_and_each_is_named(
    database: Target, tmp_path: Path
) -> None:
    name = database.connect_args["database"]
    await statement(database, f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    awaited: list[str] = []

    def log(event: str, /, **_fields: object) -> None:
        awaited.append(event)

    url = among(f"{tmp_path},{database.connect_args['host']}", database)
    with pytest.raises(DatabaseUnreachable, match=r"No such file.*; .* it is read-only"):
        await access.check_server(url, log=log, patience=0.1)
    assert awaited == ["database_awaited"]


async def test_connections_to_a_server_that_became_read_only_are_given_up(
    database: Target,
) -> None:
    name = database.connect_args["database"]
    target = await access.check_server(database.dsn)
    async with open_pool(target, instance="test", size=1) as pool:
        before = await pool.fetchval("SELECT pg_backend_pid()")
        await pool.execute("SET default_transaction_read_only = on")
        assert await pool.fetchval("SELECT pg_backend_pid()") != before
    await statement(database, f"ALTER DATABASE {name} SET default_transaction_read_only = off")


async def test_a_write_that_a_standby_refuses_counts_as_an_outage(database: Target) -> None:
    async with open_pool(database, instance="test", size=1) as pool, pool.acquire() as connection:
        with pytest.raises(asyncpg.ReadOnlySQLTransactionError) as caught:
            async with connection.transaction(readonly=True):
                await connection.execute("CREATE TABLE written (id int)")
    assert is_outage(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "mysql://anna@host/games",
        "postgresql+asyncpg://anna@host/games",
        f"postgresql://anna:12/{SECRET}@host/games",
        f"postgresql://anna:12?{SECRET}@host/games",
        f"postgresql://anna:12#{SECRET}@host/games",
        f"postgresql://anna:{SECRET}@host:port/games",
        f"postgresql://anna:{SECRET}@[host/games",
    ],
)
def test_a_url_that_cannot_be_read_is_not_repeated(url: str) -> None:
    with pytest.raises(Problem, match="ROOKERY_DATABASE_URL cannot be read; it looks") as caught:
        parse_url(url)
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://anna:{SECRET}@host:99/games?sslmode=require",
        f"postgresql://anna@host:99/games?password={SECRET}&sslmode=require",
    ],
)
def test_the_password_is_apart_from_what_is_shown(url: str) -> None:
    target, place = parse_url(url)
    assert target.dsn == "postgresql://anna@host:99/games?sslmode=require"
    assert place == "host:99/games"
    assert SECRET not in repr(target)
    assert target.program_environment == {"PGPASSWORD": SECRET}


def test_several_hosts_are_read_with_their_ports() -> None:
    target, place = parse_url(f"postgresql://anna:{SECRET}@db1:99,db2/games")
    assert target.hosts == (("db1", 99), ("db2", 5432))
    assert place == "db1:99,db2:5432/games"
    assert target.dsn == "postgresql://anna@db1:99,db2/games?target_session_attrs=read-write"
    assert target.connect_args["target_session_attrs"] == "read-write"
