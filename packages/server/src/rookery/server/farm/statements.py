"""Builds one statement for a round of the group commit: its parts are named queries behind one
fence.

    WITH pass AS (the fence, locked), counted AS (the round's number), each part AS (...)
    SELECT 1, or an error if rows were missing, where the fence was passed

A part takes its rows as columns and reads from `pass`, which has a row only while the fence is
ours; otherwise no part does anything. So a round is a single trip to the database and its own
transaction: trips used to be most of its cost, and a pause between two of them cost the session.

All parts see the rows as they were before the statement, so no two may change the same row.
"""

import re
from collections.abc import Mapping, Sequence

from rookery.server.db.pool import Queries
from rookery.server.farm.packing import packed
from rookery.server.farm.row_types import fill_places
from rookery.server.farm.rows import Columns

RoundRows = Mapping[str, Sequence[Columns]]
"""The rows of one statement, by the part that writes them."""

MOVES = ("runs_move", "tasks_move")
"""Parts that update rows which must exist, since the writer inserted them before."""
FIRST_PLACES = 3
"""The number of parameters before those of the parts: the epoch, the number of the round, and how
many rows it must update."""

_PLACE = re.compile(r"\$(\d+)")


def expected(rows: RoundRows) -> int:
    """Return the number of rows that the statement must update."""
    return sum(len(rows[part]) for part in MOVES if part in rows)


class Statements:
    """Builds statements, one for each set of parts, so that the database can reuse its prepared
    plan."""

    def __init__(self, queries: Queries) -> None:
        self._queries = queries
        self._texts: dict[str, str] = {}
        self._made: dict[tuple[str, ...], str] = {}

    def joined(self, rows: RoundRows) -> tuple[str, list[object]]:
        """Return the statement for these rows, and its parameters after the first ones."""
        parts = tuple(rows)
        sql = self._made.get(parts)
        if sql is None:
            sql = self._made[parts] = self._join(parts)
        columns: list[object] = []
        for part, some in rows.items():
            columns += packed(self._text(part), some)
        return sql, columns

    def _join(self, parts: Sequence[str]) -> str:
        steps = [f"pass AS ({self._text('fence_pass')})"]
        steps.append(f"counted AS ({self._text('commits_count')})")
        taken = FIRST_PLACES
        for part in parts:
            text = self._text(part)
            steps.append(f"{part} AS ({_shifted(text, taken)})")
            taken += max((int(place) for place in _PLACE.findall(text)), default=0)
        moves = (part for part in parts if part in MOVES)
        moved = " + ".join(f"(SELECT count(*) FROM {part})" for part in moves)  # noqa: S608 - ours
        # Only an error undoes what the statement has done so far.
        checked = f"1 / ({moved or 0} = $3::bigint)::integer"
        return f"WITH {', '.join(steps)} SELECT {checked} FROM pass"  # noqa: S608 - all of it

    def _text(self, name: str) -> str:
        found = self._texts.get(name)
        if found is None:
            found = self._texts[name] = fill_places(name, self._queries[name]).rstrip(";")
        return found


def _shifted(sql: str, by: int) -> str:
    return _PLACE.sub(lambda place: f"${int(place[1]) + by}", sql)
