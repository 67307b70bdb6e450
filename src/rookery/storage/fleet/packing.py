"""Columns as parameters: each is written as one text, which costs a fraction of an array.

asyncpg asks of each entry of an array whether it is an array itself and encodes it by itself, which
for the dozens of columns of a row is most of what a commit costs this process. A query that says
`$3::text::bigint[]` takes that column as text; the database reads it just as quickly.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from functools import lru_cache
from typing import Any

Column = tuple[Any, ...]

_AS_TEXT = re.compile(r"\$(\d+)::text::(\w+)\[\]")


def packed(sql: str, columns: Iterable[tuple[object, ...]]) -> Iterator[object]:
    """The columns in the form that the query asks for. Only texts may be null."""
    ways = _ways(sql)
    for place, column in enumerate(columns, 1):
        way = ways.get(place)
        yield way(column) if way else column


def _plain(column: Column) -> str:
    """Numbers and truth values."""
    return f"{{{','.join(map(str, column))}}}"


def _times(column: Column) -> str:
    return f"{{{','.join(map(datetime.isoformat, column))}}}"


def _texts(column: Column) -> str:
    """In quotes, within which two characters mean something."""
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
