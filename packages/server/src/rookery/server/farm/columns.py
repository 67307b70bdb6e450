"""Converts values to jsonb and back without loss, and never into text that PostgreSQL refuses.

Texts come from workers and people. PostgreSQL accepts neither NUL nor lone surrogates, and one such
text would fail a commit that carries the results of many machines; so these characters are
replaced.
"""

from collections.abc import Mapping
from typing import Any, Generic, NamedTuple, TypeVar, cast

import msgspec

from rookery.core.model.kinds import Fixed, Kind, SprtTest, SpsaTuning
from rookery.core.stats.sprt import Sprt, SprtState
from rookery.core.stats.spsa import Issued, ParameterSample, Tune
from rookery.core.stats.spsa_parameters import GainSchedule, Parameter
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
        """The value as text that PostgreSQL takes."""
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


# How each kind of run is stored: its fixed rules, its present state, and its history (the trail).
#
# A new kind defines its parts here and needs no new columns. The rules are written once, the state
# with every result, and the trail is only appended to.


class UnknownKind(Problem):
    """A run is of the kind {kind}, which this version of Rookery does not know."""


class Parts(NamedTuple):
    """A kind of run split into the values of its columns."""

    name: str
    rules: object = ()
    progress: object = ()
    trail: tuple[object, ...] = ()


class PartColumns(NamedTuple):
    """The encoders of a kind's columns and of its trail's entries."""

    rules: Json[Any]
    progress: Json[Any]
    entry: Json[Any]


_NOTHING: Json[Any] = Json(tuple[()])
_COLUMNS: Mapping[str, PartColumns] = {
    "fixed": PartColumns(_NOTHING, _NOTHING, _NOTHING),
    "sprt": PartColumns(Json(Sprt), Json(SprtState), _NOTHING),
    "spsa": PartColumns(
        Json(tuple[GainSchedule, tuple[Parameter, ...]]),
        Json(tuple[tuple[float, ...], int]),
        Json(tuple[ParameterSample, ...]),
    ),
}


def part_columns(name: str) -> PartColumns:
    if name not in _COLUMNS:
        raise UnknownKind(kind=name)
    return _COLUMNS[name]


def split_kind(kind: Kind) -> Parts:
    match kind:
        case SprtTest():
            return Parts(kind.name, kind.spec, kind.state)
        case SpsaTuning(tune):
            rules, progress = (tune.schedule, tune.parameters), (tune.thetas, tune.iteration)
            return Parts(kind.name, rules, progress, tune.history)
        case Fixed():
            return Parts(kind.name)
    raise UnknownKind(kind=kind.name)


def join_kind(name: str, rules: Any, progress: Any, trail: tuple[Any, ...] = ()) -> Kind:
    match name:
        case "sprt":
            return SprtTest(rules, progress)
        case "spsa":
            (schedule, parameters), (thetas, iteration) = rules, progress
            return SpsaTuning(Tune(schedule, parameters, thetas, iteration, trail))
        case "fixed":
            return Fixed()
    raise UnknownKind(kind=name)


_TICKET: Json[tuple[Issued, ...]] = Json(tuple[Issued, ...])


def ticket_text(ticket: object | None) -> str | None:
    """The stored form of the parameter values that a task was given; only tunes give any."""
    return None if ticket is None else _TICKET.text(cast("tuple[Issued, ...]", ticket))


def ticket_of(text: str | None) -> tuple[Issued, ...] | None:
    return None if text is None else _TICKET.value(text)
