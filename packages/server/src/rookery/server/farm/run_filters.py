"""Builds the SQL conditions for lists of finished runs. A user's values never become part of a
query's text: fields are looked up in tables, and values are numbered parameters.
"""

from dataclasses import dataclass

from rookery.core.model.timecontrol import LONG_SECONDS
from rookery.server.db.pool import clean, escape_pattern
from rookery.server.farm.read_values import FinishedRunsQuery, may_begin_commit

PLACE = "/* conditions */ true"


@dataclass(frozen=True, slots=True)
class Selection:
    """A query with its conditions filled in, and the values of its parameters."""

    sql: str
    values: tuple[object, ...]


class Parameters:
    """Numbers the values of one query."""

    def __init__(self, *values: object) -> None:
        self._values = list(values)

    def add(self, value: object, cast: str) -> str:
        self._values.append(value)
        return f"${len(self._values)}::{cast}"

    def into(self, query: str, conditions: str) -> Selection:
        return Selection(query.replace(PLACE, f"({conditions})"), tuple(self._values))


def finished(query: str, wanted: FinishedRunsQuery) -> Selection:
    """Return the query for a page of finished runs."""
    given = Parameters(wanted.page_size, (wanted.page - 1) * wanted.page_size)
    return given.into(query, _finished_conditions(wanted, given))


def finished_count(query: str, wanted: FinishedRunsQuery, most: int) -> Selection:
    """Return the query for the number of such runs, counted up to `most`."""
    given = Parameters(most)
    return given.into(query, _finished_conditions(wanted, given))


# Must be spelled like the index runs_by_words. Info texts and commits of unapproved runs are not
# searched: only insiders may see them.
_OUT = "(approver <> '' OR tasks > 0)"
_NAMES = (
    "(owner || ' ' || coalesce(plan #>> '{sides,0,engine}', '') || ' '"
    " || coalesce(plan #>> '{sides,1,engine}', '') || ' '"
    " || coalesce(plan #>> '{sides,0,tag}', '') || ' '"
    " || coalesce(plan #>> '{sides,1,tag}', ''))"
)
_BOTH_COMMITS = (
    "(coalesce(plan #>> '{sides,0,commit}', '') || ' '"
    " || coalesce(plan #>> '{sides,1,commit}', ''))"
)
_COMMITS = "plan #>> '{sides,0,commit}'", "plan #>> '{sides,1,commit}'"


def _finished_conditions(wanted: FinishedRunsQuery, given: Parameters) -> str:
    ended = "updated" if wanted.deleted else "listed"
    conditions = ["deleted" if wanted.deleted else "listed IS NOT NULL"]
    if wanted.owner:
        conditions.append(f"owner = {given.add(clean(wanted.owner), 'text')}")
    if wanted.engine:
        conditions.append(f"{given.add(clean(wanted.engine), 'text')} = ANY(engines)")
    if wanted.green_only:
        conditions.append("flag = 'green'")
    if wanted.yellow_only:
        conditions.append("flag = 'yellow'")
    if wanted.ltc_only:
        # The number must be in the text, as in the index runs_long; a parameter would not use that
        # index.
        conditions.append(f"tc_base >= {LONG_SECONDS:g}")
    if wanted.since is not None:
        conditions.append(f"{ended} >= {given.add(wanted.since, 'timestamptz')}")
    if wanted.until is not None:
        conditions.append(f"{ended} < {given.add(wanted.until, 'timestamptz')}")
    if wanted.text:
        conditions.append(_find_text(wanted.text, given))
    if wanted.hidden:
        conditions.append(f"NOT engines && {given.add(sorted(wanted.hidden), 'text[]')}")
    return " AND ".join(conditions)


def _find_text(wanted: str, given: Parameters) -> str:
    """Find a text in names or in the info, or as the beginning of a commit: by trigrams, then
    exactly."""
    pattern = given.add(f"%{escape_pattern(clean(wanted))}%", "text")
    found = f"{_NAMES} ILIKE {pattern} OR (plan ->> 'info') ILIKE {pattern} AND {_OUT}"
    if not may_begin_commit(wanted):
        return f"({found})"
    text = given.add(clean(wanted), "text")
    begun = " OR ".join(f"starts_with({commit}, lower({text}))" for commit in _COMMITS)
    return f"({found} OR {_BOTH_COMMITS} ILIKE {pattern} AND {_OUT} AND ({begun}))"
