"""Columns as parameters: numbers are written as one text, which costs a fraction of an array.

asyncpg asks of each entry of an array whether it is an array itself, which for the dozens of
numbers of a row is most of what a commit costs this process. A query that says
`$3::text::bigint[]` takes that column as text; the database reads it just as quickly.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

_AS_TEXT = re.compile(r"\$(\d+)::text::\w+\[\]")


def packed(sql: str, columns: Iterable[tuple[object, ...]]) -> Iterator[object]:
    """The columns in the form that the query asks for. Those that it takes as text hold numbers
    or truth values, and no nulls."""
    as_text = _taken_as_text(sql)
    for place, column in enumerate(columns, 1):
        yield f"{{{','.join(map(str, column))}}}" if place in as_text else column


@lru_cache(maxsize=64)
def _taken_as_text(sql: str) -> frozenset[int]:
    return frozenset(int(found[1]) for found in _AS_TEXT.finditer(sql))
