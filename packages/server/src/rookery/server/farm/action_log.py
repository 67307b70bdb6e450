"""Builds the SQL conditions for lists of the log of actions, and turns events into rows. As in
`run_filters`, values that a user asks for become query parameters, never part of the query's text.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from msgspec.structs import replace

from rookery.core.model.events import PERSONAL, Event
from rookery.core.protocol.actions import (
    SEARCHED_FIELDS,
    All,
    Among,
    Compare,
    Either,
    Expression,
    Matches,
    Mentions,
    Older,
    Order,
)
from rookery.core.protocol.text_patterns import Pieces, Wild
from rookery.server.db.pool import clean, escape_pattern
from rookery.server.farm.read_values import FailureGroup, FailureQuery, LogVisibility
from rookery.server.farm.rows import Row
from rookery.server.farm.run_filters import Parameters, Selection


def actions(query: str, wanted: Expression, limit: int, sight: LogVisibility) -> Selection:
    """Return the query for the log lines that a filter asks for and the reader may see."""
    given = Parameters(limit)
    conditions = [_condition(wanted, given), *_in_sight(sight, given)]
    return given.into(query, " AND ".join(conditions))


def failures(query: str, wanted: FailureQuery) -> Selection:
    """Return the query for failures since a given time, with equal failures grouped into one
    row."""
    given = Parameters(wanted.since, list(wanted.kinds), wanted.limit, wanted.first)
    conditions = ["true", *_in_sight(wanted.sight, given)]
    if wanted.run:
        conditions.append(f"run_id = {given.add(wanted.run, 'text')}")
    return given.into(query, " AND ".join(conditions))


def failure_of(row: Row) -> FailureGroup:
    tasks = zip(row["workers"], row["tasks"], strict=True)
    return FailureGroup(
        run=row["run_id"],
        run_name=row["run_name"],
        action=row["action"],
        message=row["message"] or "",
        count=row["count"],
        machines=row["machines"],
        first=row["first"],
        last=row["last"],
        latest=tuple((worker or "", task) for worker, task in tasks),
    )


def _in_sight(sight: LogVisibility, given: Parameters) -> Iterator[str]:
    if sight.hidden:
        engines = given.add(sorted(sight.hidden), "text[]")
        runs = f"SELECT FROM runs WHERE runs.id = run_id AND engines && {engines}"
        nets = f"SELECT FROM file_engines WHERE file = nn AND file_engines.engine = ANY({engines})"
        yield f"NOT EXISTS ({runs}) AND NOT EXISTS ({nets})"
        yield f"(actions.engine = ANY({engines})) IS NOT TRUE"
    if sight.teams is not None:
        yield f"(team IS NULL OR team = ANY({given.add(sorted(sight.teams), 'text[]')}))"
    if sight.person is not None:
        personal = given.add(sorted(PERSONAL), "text[]")
        yield f"(action <> ALL({personal}) OR subject = {given.add(sight.person, 'text')})"


@dataclass(frozen=True, slots=True)
class LogColumn:
    """A field of the log as SQL sees it; `ordered` is how it is compared by size."""

    column: str
    cast: str
    value: Callable[[str | int | float], object]
    ordered: str


def _text(value: str | float) -> str:
    return clean(str(value))


def _moment(seconds: str | float) -> datetime:
    """Return the moment of a UNIX time; times beyond the calendar's range are moved to its ends."""
    first, last = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    if float(seconds) <= first.timestamp():
        return first
    if float(seconds) >= last.timestamp():
        return last
    return datetime.fromtimestamp(float(seconds), UTC)


def _text_field(column: str) -> LogColumn:
    # Compare by code points, whatever the language of the database, as the rest of the code does.
    return LogColumn(column, "text", _text, f'{column} COLLATE "C"')


FIELDS = {
    "_id": _text_field("id::text"),
    "time": LogColumn("at", "timestamptz", _moment, "at"),
    "action": _text_field("action"),
    "username": _text_field("username"),
    "worker": _text_field("worker"),
    "run_id": _text_field("run_id"),
    "run": _text_field("run"),
    "task_id": LogColumn("task_id", "integer", int, "task_id"),
    "message": _text_field("message"),
    "nn": _text_field("nn"),
    "user": _text_field("subject"),
    "engine": _text_field("engine"),
    "team": _text_field("team"),
}

# Where a field is absent, only "is not" matches; a plain SQL comparison with null would match
# nothing.
_OPERATORS = {
    Order.EQUAL: "=",
    Order.UNEQUAL: "IS DISTINCT FROM",
    Order.ABOVE: ">",
    Order.AT_LEAST: ">=",
    Order.BELOW: "<",
    Order.AT_MOST: "<=",
}


def _condition(wanted: Expression, given: Parameters) -> str:
    match wanted:
        case All(parts):
            return _joined(" AND ", "true", parts, given)
        case Either(parts):
            return _joined(" OR ", "false", parts, given)
        case Among(name, values, negated):
            field = FIELDS[name]
            found = given.add([field.value(value) for value in values], f"{field.cast}[]")
            among = f"{field.column} = ANY({found})"
            return f"({among}) IS NOT TRUE" if negated else f"({among})"
        case Compare(name, order, value):
            field = FIELDS[name]
            column = field.column if order in (Order.EQUAL, Order.UNEQUAL) else field.ordered
            found = given.add(field.value(value), field.cast)
            return f"({column} {_OPERATORS[order]} {found})"
        case Matches(name, pattern):
            operator = "ILIKE" if pattern.ignore_case else "LIKE"
            likes = (given.add(_like(pieces), "text") for pieces in pattern.alternatives)
            column = FIELDS[name].column
            return f"({' OR '.join(f'{column} {operator} {like}' for like in likes)})"
        case Mentions(words):
            found = given.add(f"%{escape_pattern(clean(words))}%", "text")
            texts = (f"{FIELDS[name].column} ILIKE {found}" for name in SEARCHED_FIELDS)
            return f"({' OR '.join(texts)})"
        case Older(time, number):
            moment = given.add(_moment(time), "timestamptz")
            return f"((at, id) < ({moment}, {given.add(number, 'bigint')}))"


def _like(pieces: Pieces) -> str:
    """Return a pattern for LIKE."""
    return "".join(
        each.value if isinstance(each, Wild) else escape_pattern(clean(each)) for each in pieces
    )


def _joined(word: str, alone: str, parts: tuple[Expression, ...], given: Parameters) -> str:
    conditions = [_condition(part, given) for part in parts]
    return f"({word.join([alone, *conditions])})"


def action_columns(event: Event) -> tuple[object, ...]:
    """Return an event as a row; absent values are null."""
    return (
        event.at,
        str(event.action),
        clean(event.actor),
        clean(event.worker) or None,
        event.run or None,
        clean(event.run_name) or None,
        event.task,
        None if event.message is None else clean(event.message),
    )


def event_of(row: Row) -> Event:
    return Event(
        at=row["at"],
        action=row["action"],
        actor=row["username"],
        run=row["run_id"] or "",
        run_name=row["run"] or "",
        task=row["task_id"],
        worker=row["worker"] or "",
        message=row["message"],
        subject=row["subject"] or "",
        nn=row["nn"] or "",
        engine=row["engine"] or "",
        team=row["team"] or "",
    )


def numbered_event_of(row: Row) -> Event:
    return replace(event_of(row), id=str(row["id"]))
