"""Conditions for the WHERE of a list. Nothing that was asked for gets into the text of a query:
fields are looked up, values are numbered parameters.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from msgspec.structs import replace

from rookery.db.pool import clean, escape_pattern
from rookery.farm.read_values import (
    FailureGroup,
    FailureQuery,
    FinishedRunsQuery,
    LogVisibility,
)
from rookery.farm.rows import Row
from rookery.model.events import PERSONAL, Event
from rookery.protocol.actions import (
    SEARCHED_FIELDS,
    All,
    Among,
    Compare,
    Either,
    Expression,
    Mentions,
    Older,
    Order,
)

PLACE = "/* conditions */ true"


@dataclass(frozen=True, slots=True)
class Selection:
    """A query with its conditions in place, and the values of its parameters."""

    sql: str
    values: tuple[object, ...]


class Parameters:
    """Numbers the values; made for one query and thrown away."""

    def __init__(self, *values: object) -> None:
        self._values = list(values)

    def add(self, value: object, cast: str) -> str:
        self._values.append(value)
        return f"${len(self._values)}::{cast}"

    def into(self, query: str, conditions: str) -> Selection:
        return Selection(query.replace(PLACE, f"({conditions})"), tuple(self._values))


def finished(query: str, wanted: FinishedRunsQuery) -> Selection:
    """The page of finished runs that a list asks for."""
    given = Parameters(wanted.page_size, (wanted.page - 1) * wanted.page_size)
    return given.into(query, _finished_conditions(wanted, given))


def finished_count(query: str, wanted: FinishedRunsQuery, most: int) -> Selection:
    """How many there are of them, counted up to a number."""
    given = Parameters(most)
    return given.into(query, _finished_conditions(wanted, given))


# What an approver has not let out yet is not searched: its words are for its people alone.
_WORDS = (
    "concat_ws(' ', owner, plan #>> '{sides,0,tag}', plan #>> '{sides,1,tag}',"
    " CASE WHEN approver <> '' OR tasks > 0 THEN plan ->> 'info' END)"
)


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
        # Spelled like the index; protocol.user.finished.LTC_SECONDS is the same number.
        conditions.append("tc_base >= 40")
    if wanted.since is not None:
        conditions.append(f"{ended} >= {given.add(wanted.since, 'timestamptz')}")
    if wanted.until is not None:
        conditions.append(f"{ended} < {given.add(wanted.until, 'timestamptz')}")
    if wanted.text:
        text = given.add(clean(wanted.text), "text")
        conditions.append(f"strpos(lower({_WORDS}), lower({text})) > 0")
    if wanted.hidden:
        conditions.append(f"NOT engines && {given.add(sorted(wanted.hidden), 'text[]')}")
    return " AND ".join(conditions)


def actions(query: str, wanted: Expression, limit: int, sight: LogVisibility) -> Selection:
    """The lines of the log that a filter asks for, as far as the reader may see them."""
    given = Parameters(limit)
    conditions = [_condition(wanted, given), *_in_sight(sight, given)]
    return given.into(query, " AND ".join(conditions))


def failures(query: str, wanted: FailureQuery) -> Selection:
    """Failures since a time, one row for all that are alike."""
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
    """Times that no calendar knows are moved to its ends."""
    first, last = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    if float(seconds) <= first.timestamp():
        return first
    if float(seconds) >= last.timestamp():
        return last
    return datetime.fromtimestamp(float(seconds), UTC)


def _text_field(column: str) -> LogColumn:
    # By code points, as everybody else compares texts, whatever the language of the database.
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

# Where a field is absent, only "is not" holds; SQL's own comparison with null would hold nowhere.
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
        case Mentions(words):
            found = given.add(f"%{escape_pattern(clean(words))}%", "text")
            texts = (f"{FIELDS[name].column} ILIKE {found}" for name in SEARCHED_FIELDS)
            return f"({' OR '.join(texts)})"
        case Older(time, number):
            moment = given.add(_moment(time), "timestamptz")
            return f"((at, id) < ({moment}, {given.add(number, 'bigint')}))"


def _joined(word: str, alone: str, parts: tuple[Expression, ...], given: Parameters) -> str:
    conditions = [_condition(part, given) for part in parts]
    return f"({word.join([alone, *conditions])})"


# The log of actions as scripts read it: which fields an event fills.


def action_columns(event: Event) -> tuple[object, ...]:
    """An event as a row; what it does not have is null."""
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
