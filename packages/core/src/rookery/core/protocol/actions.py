"""The log of actions in fishtest's API for scripts: its entries, and the filters of /api/actions.

As in MongoDB, `UNEQUAL` and a negated `Among` are also true where the field is absent.
"""

import enum
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from msgspec import UNSET, Struct, UnsetType, field

from rookery.core.model.bounds import LARGEST_COUNT
from rookery.core.model.events import Event
from rookery.core.protocol.codec import BadFilter, Reader
from rookery.core.protocol.text_patterns import (
    MOST_CHARACTERS,
    MOST_WILD,
    TextPattern,
    UnknownPattern,
    parse_pattern,
)

# Entries of the log of actions.

MOST_ACTIONS = 200


class ActionDocument(Struct, frozen=True, gc=False, kw_only=True):
    """An entry of the log under fishtest's names, with its time in UNIX seconds. The action decides
    which of the later fields it has."""

    id: str = field(name="_id")
    time: float
    action: str
    username: str
    worker: str | UnsetType = UNSET
    run_id: str | UnsetType = UNSET
    run: str | UnsetType = UNSET
    task_id: int | UnsetType = UNSET
    message: str | UnsetType = UNSET
    nn: str | UnsetType = UNSET
    user: str | UnsetType = UNSET
    engine: str | UnsetType = UNSET
    team: str | UnsetType = UNSET


def document_of(event: Event) -> ActionDocument:
    """Return the entry of an event."""
    return ActionDocument(
        id=event.id,
        time=event.at.timestamp(),
        action=event.action,
        username=event.actor,
        worker=event.worker or UNSET,
        run_id=event.run or UNSET,
        run=event.run_name or UNSET,
        task_id=UNSET if event.task is None else event.task,
        message=UNSET if event.message is None else event.message,
        nn=event.nn or UNSET,
        user=event.subject or UNSET,
        engine=event.engine or UNSET,
        team=event.team or UNSET,
    )


Value = str | int | float


class Order(enum.Enum):
    """How a field is compared with a value."""

    EQUAL = "$eq"
    UNEQUAL = "$ne"
    ABOVE = "$gt"
    AT_LEAST = "$gte"
    BELOW = "$lt"
    AT_MOST = "$lte"


@dataclass(frozen=True, slots=True)
class Compare:
    """A field against one value."""

    field: str
    order: Order
    value: Value


@dataclass(frozen=True, slots=True)
class Among:
    """A field against several values; `negated` when it must be none of them."""

    field: str
    values: tuple[Value, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Matches:
    """A field whose text a pattern describes."""

    field: str
    pattern: TextPattern


@dataclass(frozen=True, slots=True)
class All:
    """Every part is true; always true without parts."""

    parts: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Either:
    """At least one part is true."""

    parts: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Mentions:
    """Some text field of an action contains these words, ignoring case."""

    words: str


@dataclass(frozen=True, slots=True)
class Older:
    """The actions after a given one in the order of the log, for the next page of a list."""

    time: float
    id: int


Expression = Compare | Among | Matches | All | Either | Mentions | Older
SEARCHED_FIELDS = ("message", "run", "worker", "username", "user", "nn", "engine")

_ORDERS: dict[Order, Callable[..., bool]] = {
    Order.EQUAL: operator.eq,
    Order.UNEQUAL: operator.ne,
    Order.ABOVE: operator.gt,
    Order.AT_LEAST: operator.ge,
    Order.BELOW: operator.lt,
    Order.AT_MOST: operator.le,
}


def matches(expression: Expression, action: ActionDocument) -> bool:
    """Whether an action passes the filter."""
    match expression:
        case All(parts):
            return all(matches(part, action) for part in parts)
        case Either(parts):
            return any(matches(part, action) for part in parts)
        case Among(field, values, negated):
            return (_field_value(action, field) in values) is not negated
        case Compare(field, order, value):
            found = _field_value(action, field)
            return order is Order.UNEQUAL if found is UNSET else _ORDERS[order](found, value)
        case Matches(field, pattern):
            found = _field_value(action, field)
            return found is not UNSET and pattern.describes(str(found))
        case Mentions(words):
            texts = (_field_value(action, field) for field in SEARCHED_FIELDS)
            return any(
                words.casefold() in str(text).casefold() for text in texts if text is not UNSET
            )
        case Older(time, number):
            return (action.time, int(action.id)) < (time, number)


def _field_value(action: ActionDocument, field: str) -> object:
    return getattr(action, field.removeprefix("_"))


# Parsing of filters: a small, safe part of MongoDB's query language.
#
# Equality, `$eq`, `$ne`, `$in`, `$nin`, `$gt`, `$gte`, `$lt`, `$lte` and simple cases of `$regex`
# on the fields of an action, combined by `$and` and `$or`. No part of a filter reaches the database
# as SQL text.

MOST_PARTS = 100
MOST_VALUES = 200
DEEPEST = 5
LONGEST_TEXT = 1000
LARGEST_TIME = 10**12
INTEGER_FIELDS = frozenset({"task_id"})
NUMBER_FIELDS = frozenset({"time"}) | INTEGER_FIELDS
TEXT_FIELDS = frozenset(
    {"_id", "action", "username", "worker", "run_id", "run", "message", "nn", "user"}
    | {"engine", "team"}
)
PATTERN_RULE = (
    "a $regex of text, '.', '.*', '^', '$' and '|' is understood,"
    f" of up to {MOST_CHARACTERS} characters and {MOST_WILD} '.*'"
)
_OPERATORS = {order.value: order for order in Order}
_BODY = Reader(dict[str, object], most_bytes=64 * 1024)


def parse_action_filter(body: bytes) -> Expression:
    """Return the typed filter; raise WireFault."""
    expression = _parse_object(_BODY.read(body), DEEPEST)
    if _count_parts(expression) > MOST_PARTS:
        raise BadFilter(text=f"more than {MOST_PARTS} parts")
    return expression


def _parse_object(found: object, depth: int) -> Expression:
    if depth == 0:
        raise BadFilter(text=f"more than {DEEPEST} levels")
    if not isinstance(found, dict):
        raise BadFilter(text="expected an object")
    return _combine(tuple(_parse_clause(key, value, depth) for key, value in found.items()))


def _combine(parts: tuple[Expression, ...]) -> Expression:
    return parts[0] if len(parts) == 1 else All(parts)


def _parse_clause(key: str, value: object, depth: int) -> Expression:
    if key in ("$and", "$or"):
        return _parse_junction(key, value, depth)
    if key not in NUMBER_FIELDS and key not in TEXT_FIELDS:
        raise BadFilter(text=f"unknown field or operator {key[:100]!r}")
    if isinstance(value, dict) and value:
        return _combine(tuple(_parse_operations(key, value)))
    return Compare(key, Order.EQUAL, _check_value(key, value))


def _parse_junction(key: str, found: object, depth: int) -> Expression:
    parts = tuple(_parse_object(part, depth - 1) for part in _check_list(key, found, MOST_PARTS))
    return Either(parts) if key == "$or" else All(parts)


def _parse_operations(field: str, operations: dict[str, object]) -> Iterator[Expression]:
    for name, operand in operations.items():
        if name == "$regex":
            yield _parse_regex(field, operand, operations.get("$options", ""))
        elif name != "$options" or "$regex" not in operations:
            yield _parse_operation(field, name, operand)


def _parse_regex(field: str, pattern: object, options: object) -> Expression:
    if field not in TEXT_FIELDS:
        raise BadFilter(text=f"{field} is compared with a number")
    if not isinstance(options, str) or not set(options) <= {"i", "s"}:
        raise BadFilter(text="$options may be i and s")
    try:
        found = parse_pattern(_check_text(field, pattern), ignore_case="i" in options)
    except UnknownPattern:
        raise BadFilter(text=PATTERN_RULE) from None
    return Matches(field, found)


def _parse_operation(field: str, name: str, operand: object) -> Expression:
    if name in ("$in", "$nin"):
        values = tuple(
            _check_value(field, value) for value in _check_list(name, operand, MOST_VALUES)
        )
        return Among(field, values, negated=name == "$nin")
    if name not in _OPERATORS:
        raise BadFilter(text=f"unknown operator {name[:100]!r}")
    return Compare(field, _OPERATORS[name], _check_value(field, operand))


def _check_list(name: str, found: object, most: int) -> list[object]:
    if not isinstance(found, list) or not 1 <= len(found) <= most:
        raise BadFilter(text=f"{name} wants a list of 1 to {most}")
    return found


def _check_value(field: str, found: object) -> Value:
    if field in TEXT_FIELDS:
        return _check_text(field, found)
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise BadFilter(text=f"{field} is compared with a number")
    if field in INTEGER_FIELDS and (not isinstance(found, int) or abs(found) > LARGEST_COUNT):
        raise BadFilter(text=f"{field} is compared with an integer up to {LARGEST_COUNT}")
    if abs(found) > LARGEST_TIME:
        raise BadFilter(text=f"{field} is compared with a number up to {LARGEST_TIME}")
    return found


def _check_text(field: str, found: object) -> str:
    if isinstance(found, str) and len(found) <= LONGEST_TEXT:
        return found
    raise BadFilter(text=f"{field} is compared with a text of up to {LONGEST_TEXT} characters")


def _count_parts(expression: Expression) -> int:
    if isinstance(expression, All | Either):
        return 1 + sum(map(_count_parts, expression.parts))
    return len(expression.pattern.alternatives) if isinstance(expression, Matches) else 1
