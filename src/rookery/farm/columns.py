"""Values as jsonb: exact both ways, and never of a form that PostgreSQL refuses.

Workers and people write texts. PostgreSQL knows no NUL and no half of a surrogate pair, and one
such text would make a batch fail that carries the results of many; so they are replaced.
"""

from collections.abc import Mapping
from typing import Any, Generic, NamedTuple, TypeVar, cast

import msgspec

from rookery.db.pool import clean
from rookery.db.target import Problem
from rookery.model.kinds import Fixed, Kind, SprtTest, SpsaTuning
from rookery.stats.sprt import Sprt, SprtState
from rookery.stats.spsa import Issued, ParameterSample, Tune
from rookery.stats.spsa_parameters import GainSchedule, Parameter

T = TypeVar("T")

_NUL = "\\u0000"
_encode = msgspec.json.Encoder().encode


class Json(Generic[T]):
    """One type of value and its text; made once, since the decoder is worth keeping."""

    def __init__(self, kind: Any) -> None:
        self._decoder: msgspec.json.Decoder[T] = msgspec.json.Decoder(kind)

    def text(self, value: T) -> str:
        """The value as text that PostgreSQL takes."""
        try:
            text = _encode(value).decode()
        except UnicodeEncodeError:
            text = _NUL  # so that it is looked at below
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


# How each kind of run is kept: rules that stay, where it stands now, and what led there.
#
# A new kind gets its parts here and no column anywhere. What a kind decides by is written once;
# only where it stands is written with every result; its trail is only ever appended to.


class UnknownKind(Problem):
    """A run is of the kind {kind}, which this version of Rookery does not know."""


class Parts(NamedTuple):
    """A kind as its columns hold it."""

    name: str
    rules: object = ()
    progress: object = ()
    trail: tuple[object, ...] = ()


class PartColumns(NamedTuple):
    """The columns of a kind, and of an entry of its trail."""

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
    """What a task remembers of the values it was given; tunes alone give some."""
    return None if ticket is None else _TICKET.text(cast("tuple[Issued, ...]", ticket))


def ticket_of(text: str | None) -> tuple[Issued, ...] | None:
    return None if text is None else _TICKET.value(text)
