"""Packs rows as parameters of a statement, as texts: asyncpg checks each entry of an array for
being an array and encodes it separately, which with dozens of columns was most of a round's cost.

A query with `$1::text::jsonb` takes all its rows as one text, which msgspec encodes at once; this
is for the rows that most rounds have. One with `$3::text::bigint[]` takes that column as a text.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

import msgspec

Column = tuple[Any, ...]

_AS_ROWS = "$1::text::jsonb"
_encode = msgspec.json.Encoder().encode
_AS_TEXT = re.compile(r"\$(\d+)::text::(\w+)\[\]")


def packed(sql: str, rows: Sequence[tuple[object, ...]]) -> Iterator[object]:
    """Yield the rows in the form that the query asks for. Of columns, only texts may contain
    null."""
    ways = _ways(sql)
    if ways is None:
        yield _encode(rows).decode()
        return
    for place, column in enumerate(zip(*rows, strict=True), 1):
        way = ways.get(place)
        yield way(column) if way else column


def _plain(column: Column) -> str:
    """Return an array of numbers or booleans as text."""
    return f"{{{','.join(map(str, column))}}}"


def _times(column: Column) -> str:
    return f"{{{','.join(map(datetime.isoformat, column))}}}"


def array_text(column: Sequence[str | None]) -> str:
    """Return an array of texts as text: quoted, with backslashes and quotes escaped."""
    if not column:
        return "{}"
    try:
        joined = '","'.join(column)  # type: ignore[arg-type]  # nulls are rare
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


_WAYS: dict[str, Callable[[Column], str]] = {"timestamptz": _times, "text": array_text}


@lru_cache(maxsize=64)
def _ways(sql: str) -> dict[int, Callable[[Column], str]] | None:
    """How each column is packed; None if all rows are one text."""
    if _AS_ROWS in sql:
        return None
    return {int(place): _WAYS.get(kind, _plain) for place, kind in _AS_TEXT.findall(sql)}
