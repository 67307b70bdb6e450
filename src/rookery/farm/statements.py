"""Builds one statement for a round of the group commit: its parts are named queries behind one
fence.

    WITH pass AS (the fence, locked), counted AS (the round's number), each part AS (...)
    SELECT how many rows were moved, where the fence was passed

A part takes its rows as columns and reads from `pass`, which has a row only while the fence is
ours; otherwise no part does anything. A round is a single trip to the database, because trips used
to be most of its cost.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from rookery.db.pool import Queries
from rookery.farm.rows import Columns

# Columns as parameters: each is sent as one text, which costs a fraction of an array.
#
# asyncpg checks each entry of an array for being an array and encodes it separately, which with
# dozens of columns per row is most of a commit's cost in this process. A query with
# `$3::text::bigint[]` takes that column as text; the database reads it just as quickly.

Column = tuple[Any, ...]

_AS_TEXT = re.compile(r"\$(\d+)::text::(\w+)\[\]")


def packed(sql: str, columns: Iterable[tuple[object, ...]]) -> Iterator[object]:
    """The columns in the form that the query asks for. Only text columns may contain null."""
    ways = _ways(sql)
    for place, column in enumerate(columns, 1):
        way = ways.get(place)
        yield way(column) if way else column


def _plain(column: Column) -> str:
    """An array of numbers or booleans as text."""
    return f"{{{','.join(map(str, column))}}}"


def _times(column: Column) -> str:
    return f"{{{','.join(map(datetime.isoformat, column))}}}"


def _texts(column: Column) -> str:
    """An array of texts as text: quoted, with backslashes and quotes escaped."""
    try:
        joined = '","'.join(column)
    except TypeError:
        return f"{{{','.join(map(_quoted, column))}}}"
    if "\\" in joined or joined.count('"') > 2 * (len(column) - 1):
        return f"{{{','.join(map(_quoted, column))}}}"
    return f'{{"{joined}"}}'


def _quoted(text: str | None) -> str:
    if text is None:
        return "NULL"
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


_WAYS: dict[str, Callable[[Column], str]] = {"timestamptz": _times, "text": _texts}


@lru_cache(maxsize=64)
def _ways(sql: str) -> dict[int, Callable[[Column], str]]:
    return {int(place): _WAYS.get(kind, _plain) for place, kind in _AS_TEXT.findall(sql)}


Piece = Mapping[str, Sequence[Columns]]
"""The rows of one statement, by the part that writes them."""

MOVES = ("runs_move", "tasks_move")
"""Parts that update rows which must exist, since the writer inserted them before."""
MOST_ROWS = 250
"""The most rows of a part in one statement, so that packing them does not hold up the loop."""
FIRST_PLACES = 2
"""The number of parameters before those of the parts: the epoch, and the number of the round."""

_PLACE = re.compile(r"\$(\d+)")


def pieces(rows: Sequence[tuple[str, list[Columns]]]) -> Iterator[Piece]:
    """Splits rows into pieces: usually one, several for very many rows. There is always at least
    one, since every round must store its number."""
    longest = max((len(some) for _, some in rows), default=1)
    for start in range(0, longest, MOST_ROWS):
        parts = ((part, some[start : start + MOST_ROWS]) for part, some in rows)
        yield {part: some for part, some in parts if some}


def expected(piece: Piece) -> int:
    """The number of rows that the statement must update."""
    return sum(len(piece[part]) for part in MOVES if part in piece)


class Statements:
    """Builds statements, one for each set of parts, so that the database can reuse its prepared
    plan."""

    def __init__(self, queries: Queries) -> None:
        self._queries = queries
        self._made: dict[tuple[str, ...], str] = {}

    def joined(self, piece: Piece) -> tuple[str, list[object]]:
        """The statement for a piece, and its parameters after the first two."""
        parts = tuple(piece)
        sql = self._made.get(parts)
        if sql is None:
            sql = self._made[parts] = self._join(parts)
        columns: list[object] = []
        for part, rows in piece.items():
            columns += packed(self._queries[part], zip(*rows, strict=True))
        return sql, columns

    def _join(self, parts: Sequence[str]) -> str:
        steps = [f"pass AS ({self._text('fence_pass')})"]
        steps.append(f"counted AS ({self._text('commits_count')})")
        taken = FIRST_PLACES
        for part in parts:
            text = self._text(part)
            steps.append(f"{part} AS ({_shifted(text, taken)})")
            taken += max(int(place) for place in _PLACE.findall(text))
        moves = (part for part in parts if part in MOVES)
        counts = " + ".join(f"(SELECT count(*) FROM {part})" for part in moves)  # noqa: S608 - ours
        return f"WITH {', '.join(steps)} SELECT {counts or 0} FROM pass"  # noqa: S608 - all of it

    def _text(self, name: str) -> str:
        return self._queries[name].rstrip(";")


def _shifted(sql: str, by: int) -> str:
    return _PLACE.sub(lambda place: f"${int(place[1]) + by}", sql)
