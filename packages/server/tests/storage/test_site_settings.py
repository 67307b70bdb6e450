"""What the settings of a server do to a whole site on a real database."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace as with_fields

from rookery.server.app.build import build, new_process
from rookery.server.app.site import Site
from rookery.server.ask.passages import Asker, PassageFilter
from rookery.server.db.target import Target
from rookery.server.settings import Settings
from tests.database import pool_on
from tests.documents import RAZORING
from tests.fakes import RecordedLog
from tests.people import OLGA

pytestmark = pytest.mark.anyio

LEFT = "SELECT extract(epoch FROM expires_at - clock_timestamp()) FROM lease"


@asynccontextmanager
async def opened_site(folder: Path, database: Target, **named: str) -> AsyncIterator[Site]:
    given = {"data": str(folder), "database_url": database.dsn, "front_end": "0"}
    settings = Settings.read({}, {**given, "books_repository": "off", **named})
    async with build(settings, new_process(settings, RecordedLog())) as site:
        yield site


async def test_other_servers_reach_this_one_at_the_address_of_its_settings(
    database: Target, tmp_path: Path
) -> None:
    address = "http://rookery-a.example:8000"
    async with opened_site(tmp_path, database, internal_url=address) as site:
        lease = await site.read_lease()
        assert lease is not None
        assert lease.address == address


async def test_a_silent_primary_is_taken_over_from_after_the_seconds_of_its_settings(
    database: Target, tmp_path: Path
) -> None:
    async with opened_site(tmp_path, database, lease_seconds="60"), pool_on(database) as pool:
        assert 30 < await pool.fetchval(LEFT) <= 60


@pytest.mark.parametrize(
    ("named", "is_kept"),
    [
        ({"idle_account_days": "2"}, False),
        ({"idle_account_days": "4"}, True),
        ({"idle_account_days": "0"}, True),
        ({"idle_account_days": "2", "login_to_view": "1"}, True),
    ],
)
async def test_accounts_that_were_never_used_are_removed_after_the_days_of_the_settings(
    database: Target, tmp_path: Path, named: dict[str, str], *, is_kept: bool
) -> None:
    async with opened_site(tmp_path, database, **named) as site:
        created = site.clock.now() - timedelta(days=3)
        await site.users.add(replace(OLGA, groups=frozenset(), created=created))
        await site.accounting()
        assert (await site.users.by_name("olga") is not None) == is_kept


@pytest.fixture
def synonyms(tmp_path: Path) -> Path:
    file = tmp_path / "synonyms.txt"
    file.write_text("flubber, razoring\n")
    return file


async def test_questions_are_widened_by_the_synonyms_of_the_operators_file(
    database: Target, tmp_path: Path, synonyms: Path
) -> None:
    razoring = with_fields(RAZORING, engine="Stockfish", engines=("Stockfish",))
    # Words that most passages have are not searched for.
    others = [
        with_fields(razoring, key=f"commit:{number}", title="Faster", body="Cache the king.")
        for number in range(2, 9)
    ]
    found = []
    for named in ({}, {"ask_thesaurus": str(synonyms)}):
        async with opened_site(tmp_path / "data", database, **named) as site:
            await site.passages.apply((razoring, *others), ())
            asker, wanted = Asker(name="olga"), PassageFilter()
            found.append(len(await site.retriever.search("flubber", asker, wanted, limit=1)))
    assert found == [0, 1]
