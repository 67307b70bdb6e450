"""Tables: calls a feature's named queries and returns rows as values."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from rookery.server.db.fence import Fence
from rookery.server.db.pool import Connection, Pool, Queries, clean

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Transaction:
    """One write transaction; calling it with a query's name and its parameters runs the query."""

    _connection: Connection
    _queries: Queries

    async def __call__(self, query: str, *values: object) -> Any:
        """Run a query; return the first column of the first row, or None without a row."""
        return await self._connection.fetchval(self._queries[query], *values)

    async def one(self, kind: Callable[..., T], query: str, *values: object) -> T | None:
        row = await self._connection.fetchrow(self._queries[query], *values)
        return None if row is None else kind(**row)

    async def column(self, query: str, *values: object) -> list[Any]:
        """Give the first column of every row."""
        return [row[0] for row in await self._connection.fetch(self._queries[query], *values)]

    async def each(self, query: str, rows: Sequence[Sequence[object]]) -> None:
        """Run the query for each of these rows of parameters."""
        await self._connection.executemany(self._queries[query], rows)


class Table:
    """The base class of a feature's rows that any process may write, not only the primary.

    In the reading methods, `kind` makes a value of a row; it is called with the columns by name.
    """

    def __init__(self, pool: Pool, queries: Queries) -> None:
        self._pool = pool
        self._queries = queries
        self._fence = Fence(pool, queries)

    async def _one(self, kind: Callable[..., T], query: str, *values: object) -> T | None:
        row = await self._pool.fetchrow(self._queries[query], *values)
        return None if row is None else kind(**row)

    async def _many(self, kind: Callable[..., T], query: str, *values: object) -> tuple[T, ...]:
        return tuple(kind(**row) for row in await self._pool.fetch(self._queries[query], *values))

    async def _value(self, query: str, *values: object) -> Any:
        """Run a query; return the first column of the first row, or None without a row."""
        return await self._pool.fetchval(self._queries[query], *values)

    async def _column(self, query: str, *values: object) -> list[Any]:
        """Give the first column of every row."""
        return [row[0] for row in await self._pool.fetch(self._queries[query], *values)]

    async def _write(self, query: str, *values: object) -> Any:
        """Run one query in a separate write transaction; return what `Transaction` does."""
        async with self._writing() as write:
            return await write(query, *values)

    @asynccontextmanager
    async def _writing(self) -> AsyncIterator[Transaction]:
        """Yield a write transaction for several queries, committed if the block ends without an
        error."""
        async with self._fence.write() as connection:
            yield Transaction(connection, self._queries)


def columns(value: "DataclassInstance | msgspec.Struct") -> tuple[Any, ...]:
    """Return the fields of a value in order, as a query's parameters."""
    if isinstance(value, msgspec.Struct):
        return msgspec.structs.astuple(value)
    return tuple(getattr(value, field.name) for field in fields(value))


def clean_columns(value: "DataclassInstance | msgspec.Struct") -> tuple[Any, ...]:
    """Like `columns`, with every text cleaned for a column."""
    return tuple(clean(each) if isinstance(each, str) else each for each in columns(value))
