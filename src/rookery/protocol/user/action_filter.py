"""Filters on the log of actions as typed expressions, and what it means for one to match.

As in a document database, `UNEQUAL` and a negated `Among` also hold where the field is absent.
"""

import enum
import operator
from collections.abc import Callable
from dataclasses import dataclass

from msgspec import UNSET

from rookery.protocol.user.actions import ActionDocument

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
class All:
    """Every part holds; without parts that is always so."""

    parts: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Either:
    """At least one part holds."""

    parts: tuple["Expression", ...]


Expression = Compare | Among | All | Either

_ORDERS: dict[Order, Callable[..., bool]] = {
    Order.EQUAL: operator.eq,
    Order.UNEQUAL: operator.ne,
    Order.ABOVE: operator.gt,
    Order.AT_LEAST: operator.ge,
    Order.BELOW: operator.lt,
    Order.AT_MOST: operator.le,
}


def matches(expression: Expression, action: ActionDocument) -> bool:
    """Whether the action is among those the filter asks for."""
    match expression:
        case All(parts):
            return all(matches(part, action) for part in parts)
        case Either(parts):
            return any(matches(part, action) for part in parts)
        case Among(field, values, negated):
            return (_of(action, field) in values) is not negated
        case Compare(field, order, value):
            found = _of(action, field)
            return order is Order.UNEQUAL if found is UNSET else _ORDERS[order](found, value)


def _of(action: ActionDocument, field: str) -> object:
    return getattr(action, field.removeprefix("_"))
