"""Converts values to jsonb and back without loss, and never into text that PostgreSQL refuses.

Texts come from workers and people. PostgreSQL accepts neither NUL nor lone surrogates, and one such
text would fail a commit that carries the results of many machines; so these characters are
replaced.
"""

from collections.abc import Mapping
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from rookery.core.model.kinds import KINDS
from rookery.core.model.task import Ticket
from rookery.server.db.pool import clean
from rookery.server.db.target import Problem

T = TypeVar("T")

_NUL = "\\u0000"
_encode = msgspec.json.Encoder().encode


class Json(Generic[T]):
    """Encodes and decodes one type. Create it once per type, since building the decoder is
    expensive."""

    def __init__(self, kind: Any) -> None:
        self._decoder: msgspec.json.Decoder[T] = msgspec.json.Decoder(kind)

    def text(self, value: T) -> str:
        """Return the value as text that PostgreSQL takes."""
        try:
            text = _encode(value).decode()
        except UnicodeEncodeError:
            text = _NUL  # makes the branch below clean it
        if _NUL in text:
            text = _encode(_cleaned(msgspec.to_builtins(value))).decode()
        return text

    def value(self, text: str) -> T:
        return self._decoder.decode(text)


def _cleaned(value: object) -> object:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {_cleaned(key): _cleaned(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_cleaned(each) for each in value]
    return value


# How a kind of run is stored: its fixed rules are written once, its present state with every
# result, and its history (the trail) is only added to. The kinds say which types these have.


class PartColumns(NamedTuple):
    """The encoders of a kind's columns and of its trail's entries."""

    rules: Json[Any]
    progress: Json[Any]
    entry: Json[Any]


_COLUMNS: Mapping[str, PartColumns] = {
    name: PartColumns(*map(Json, kind.stored)) for name, kind in KINDS.items()
}


def part_columns(name: str) -> PartColumns:
    if name not in _COLUMNS:
        raise Problem(
            "A run is of the kind {kind}, which this version of Rookery does not know.", kind=name
        )
    return _COLUMNS[name]


_TICKET: Json[Ticket] = Json(Ticket)


def ticket_text(ticket: Ticket | None) -> str | None:
    """Return the stored form of the parameter values that a task was given; only tunes give any."""
    return None if ticket is None else _TICKET.text(ticket)


def ticket_of(text: str | None) -> Ticket | None:
    return None if text is None else _TICKET.value(text)
