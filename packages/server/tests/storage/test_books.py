"""Books: one contract, held by PostgreSQL and by its twin in memory alike."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from rookery.server.db.pool import Queries
from rookery.server.db.target import Target
from rookery.server.files.books import BookRows, StoredBook
from tests.database import pool_on
from tests.twins.files import MemoryBooks

pytestmark = pytest.mark.anyio

BOOK = StoredBook(
    "b.epd", "blob", 5, "a" * 64, "k" * 64, 3, "olga", datetime(2026, 3, 1, tzinfo=UTC)
)
OTHER = replace(BOOK, name="a.pgn", blob="other")


@pytest.fixture(params=["memory", "postgres"])
async def books(
    request: pytest.FixtureRequest, database: Target, queries: Queries
) -> AsyncIterator[BookRows]:
    if request.param == "memory":
        yield MemoryBooks()
        return
    async with pool_on(database) as pool:
        yield BookRows(pool, queries)


async def test_books_are_listed_by_name(books: BookRows) -> None:
    assert await books.add(BOOK) == BOOK
    assert await books.add(OTHER) == OTHER
    assert await books.list_all() == (OTHER, BOOK)
    assert await books.get(BOOK.name) == BOOK
    assert await books.find_known(["blob", "x"]) == {"blob"}


async def test_the_first_book_of_a_name_stays_until_it_is_removed(books: BookRows) -> None:
    await books.add(BOOK)
    assert await books.add(replace(BOOK, blob="new")) == BOOK
    await books.forget([BOOK.blob])
    assert await books.get(BOOK.name) is None
    assert await books.add(replace(BOOK, blob="new")) == replace(BOOK, blob="new")
