"""What users may keep here: counted from the rows of all kinds, also when uploads race."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

import pytest

from rookery.server.db.pool import Pool, Queries
from rookery.server.db.target import Target
from rookery.server.files.books import BookRows, StoredBook
from rookery.server.files.engine_files import NetRows, ProgramRows, StoredNet, StoredProgram
from rookery.server.files.store import MB, QuotaExceeded, load_usage
from rookery.server.identity.users import Users
from tests.database import pool_on
from tests.makers import NOW
from tests.people import OLGA, SVEN

pytestmark = pytest.mark.anyio

LIMIT = 100


@dataclass(frozen=True, slots=True)
class Shelves:
    pool: Pool
    queries: Queries

    async def net(self, number: int, size: int, user: str = "olga") -> None:
        net = StoredNet(f"nn-{number}.nnue", f"net {number}", size, user, NOW)
        await NetRows(self.pool, self.queries).add(net, limit=LIMIT)

    async def program(self, number: int, size: int) -> None:
        program = StoredProgram(str(number), f"program {number}", size, "a", "olga", NOW)
        await ProgramRows(self.pool, self.queries).add(program, limit=LIMIT)

    async def book(self, name: str, blob: str, size: int) -> StoredBook:
        book = StoredBook(name, blob, size, "", "", 1, "olga", NOW)
        return await BookRows(self.pool, self.queries).add(book, limit=LIMIT)

    async def used(self) -> dict[str, int]:
        return dict(await load_usage(self.pool, self.queries))


@pytest.fixture
async def shelves(database: Target, queries: Queries) -> AsyncIterator[Shelves]:
    async with pool_on(database) as pool:
        users = Users(pool, queries)
        for user in (OLGA, SVEN):
            await users.add(user)
        yield Shelves(pool, queries)


async def test_nets_programs_and_books_count_together(shelves: Shelves) -> None:
    await shelves.net(1, 40)
    await shelves.program(1, 40)
    await shelves.book("a.epd", "book", 20)
    for refused in (shelves.net(2, 1), shelves.program(2, 1), shelves.book("b.epd", "other", 1)):
        with pytest.raises(QuotaExceeded, match="An administrator can allow more"):
            await refused
    await shelves.net(3, 100, user="sven")
    assert await shelves.used() == {"olga": 100, "sven": 100}


async def test_what_is_kept_already_takes_no_more_room(shelves: Shelves) -> None:
    await shelves.book("a.epd", "book", 90)
    assert (await shelves.book("a.epd", "again", 90)).blob == "book"


async def test_uploads_that_race_do_not_exceed_it(shelves: Shelves) -> None:
    racing = (*(shelves.net(n, 30) for n in range(4)), *(shelves.program(n, 30) for n in range(4)))
    ended = await asyncio.gather(*racing, return_exceptions=True)
    assert sum(each is None for each in ended) == 3
    assert sum(isinstance(each, QuotaExceeded) for each in ended) == 5
    assert await shelves.used() == {"olga": 90}


async def test_one_user_may_be_allowed_more_than_others_or_nothing(shelves: Shelves) -> None:
    users = Users(shelves.pool, shelves.queries)
    await users.save(replace(OLGA, upload_mb=1))
    await shelves.net(1, MB)
    await users.save(replace(OLGA, upload_mb=0))
    with pytest.raises(QuotaExceeded):
        await shelves.program(1, 1)
