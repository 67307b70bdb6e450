"""Opening books in PostgreSQL, and their twin in memory. Any process may write them."""

from collections.abc import Collection

from rookery.service.sources.books import Book
from rookery.storage.fence import Fence
from rookery.storage.pool import Pool
from rookery.storage.queries import Queries
from rookery.storage.quotas import Upload, check_among


class PostgresBooks:
    def __init__(self, pool: Pool, queries: Queries) -> None:
        self._pool = pool
        self._queries = queries
        self._fence = Fence(pool, queries)

    async def by_name(self, name: str) -> Book | None:
        row = await self._pool.fetchrow(self._queries["books_by_name"], name)
        return None if row is None else Book(**row)

    async def add(self, book: Book, *, limit: int | None = None) -> Book:
        columns = (book.name, book.blob, book.size, book.sha256, book.sri, book.openings)
        upload = Upload(book.user, book.size, limit)
        async with self._fence.write() as connection:
            await upload.begin(connection, self._queries)
            row = await connection.fetchrow(
                self._queries["books_add"], *columns, book.user, book.created
            )
            assert row is not None
            if row["blob"] == book.blob:
                await upload.check(connection, self._queries)
        return Book(**row)

    async def remove(self, name: str) -> None:
        async with self._fence.write() as connection:
            await connection.execute(self._queries["books_remove"], name)

    async def everything(self) -> tuple[Book, ...]:
        return tuple(Book(**row) for row in await self._pool.fetch(self._queries["books_all"]))

    async def known(self, keys: Collection[str]) -> frozenset[str]:
        rows = await self._pool.fetch(self._queries["books_known"], list(keys))
        return frozenset(row["blob"] for row in rows)


class MemoryBooks:
    def __init__(self) -> None:
        self._rows: dict[str, Book] = {}

    async def by_name(self, name: str) -> Book | None:
        return self._rows.get(name)

    async def add(self, book: Book, *, limit: int | None = None) -> Book:
        if book.name not in self._rows:
            check_among(self._rows.values(), book, limit)
        return self._rows.setdefault(book.name, book)

    async def remove(self, name: str) -> None:
        self._rows.pop(name, None)

    async def everything(self) -> tuple[Book, ...]:
        return tuple(self._rows[name] for name in sorted(self._rows))

    async def known(self, keys: Collection[str]) -> frozenset[str]:
        return frozenset(row.blob for row in self._rows.values() if row.blob in keys)
