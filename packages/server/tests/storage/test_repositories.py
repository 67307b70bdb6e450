"""Granted repositories: one contract for PostgreSQL and its twin, and the operator's command."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rookery.core.protocol.people import GrantedRepository
from rookery.server.db.pool import Queries
from rookery.server.db.target import Target
from rookery.server.engines.grants import GrantRows
from tests.commands import add_user, run_command
from tests.database import pool_on
from tests.twins.records import MemoryRepositories

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def granted(repository: str, team: str) -> GrantedRepository:
    return GrantedRepository(repository=repository, team=team, granted_by="boris", granted=NOW)


OWLS = granted("https://example.org/strix", "owls")
ALL = granted("https://example.org/felis", "")


@pytest.fixture(params=["memory", "postgres"])
async def rows(
    request: pytest.FixtureRequest, database: Target, queries: Queries
) -> AsyncIterator[GrantRows]:
    if request.param == "memory":
        yield MemoryRepositories()
        return
    async with pool_on(database) as pool:
        yield GrantRows(pool, queries)


@pytest.mark.anyio
async def test_what_is_granted_stays_until_it_is_revoked(rows: GrantRows) -> None:
    for granted in (OWLS, ALL, OWLS):
        await rows.add(granted)
    assert await rows.list_all() == (ALL, OWLS)
    assert not await rows.remove(OWLS.repository, "")
    assert await rows.remove(OWLS.repository, "owls")
    assert await rows.list_all() == (ALL,)


def test_the_operator_grants_lists_and_revokes(tmp_path: Path) -> None:
    data = tmp_path / "data"
    assert add_user("olga", data).returncode == 0
    granted = run_command("repo", "grant", "git@example.org:owls/strix.git", data=data)
    assert "ssh://git@example.org/owls/strix is fetched" in granted.stdout
    listed = run_command("repo", "list", data=data).stdout
    assert "ssh://git@example.org/owls/strix" in listed
    assert "everybody" in listed
    unknown = run_command("repo", "grant", "https://example.org/x", "--team", "owls", data=data)
    assert (unknown.returncode, unknown.stderr) == (2, "rookery: There is no team owls.\n")
    assert (
        run_command("repo", "revoke", "ssh://git@example.org/owls/strix/", data=data).returncode
        == 0
    )
    assert "strix" not in run_command("repo", "list", data=data).stdout
