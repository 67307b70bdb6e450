"""Values as jsonb: exact both ways, and never of a form that PostgreSQL refuses.

Workers and people write texts. PostgreSQL knows no NUL and no half of a surrogate pair, and one
such text would make a batch fail that carries the results of many; so they are replaced.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from rookery.db.pool import clean
from rookery.db.target import Problem
from rookery.model.kinds import Fixed, Kind, SprtTest, SpsaTuning
from rookery.stats.sprt import Sprt, SprtState
from rookery.stats.spsa import Issued, ParameterSample, Tune
from rookery.stats.spsa_parameters import Parameter, Schedule

T = TypeVar("T")

_NUL = "\\u0000"
_encode = msgspec.json.Encoder().encode


class Json(Generic[T]):
    """One type of value and its text; made once, since the decoder is worth keeping."""

    def __init__(self, kind: Any) -> None:
        self._kind = kind
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

    def converted(self, builtins: object) -> T:
        """The value out of what a text of unknown type was decoded to."""
        found: T = msgspec.convert(builtins, self._kind)
        return found


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
# A new kind gets a `Shape` of its own here and no column anywhere. What a kind decides by is
# written once; only where it stands is written with every result; its trail is only ever appended
# to.


class UnknownKind(Problem):
    """A run is of the kind {kind}, which this version of Rookery does not know."""


class UnknownTicket(Problem):
    """No kind of run that this version of Rookery knows gives out a ticket like {ticket}."""


class Parts(NamedTuple):
    """A kind, taken apart."""

    name: str
    rules: object = ()
    standing: object = ()
    trail: tuple[object, ...] = ()


@dataclass(frozen=True, slots=True)
class Shape:
    """How one kind is taken apart and put together again."""

    split: Callable[[Any], Parts]
    join: Callable[[Any, Any, Any], Kind]
    rules: Json[Any]
    standing: Json[Any]
    entry: Json[Any]
    ticket: Json[Any]
    owns: Callable[[object], bool] = lambda _ticket: False


NOTHING: Json[Any] = Json(tuple[()])


def _split_sprt(kind: SprtTest) -> Parts:
    return Parts(kind.name, kind.spec, kind.state)


def _split_spsa(kind: SpsaTuning) -> Parts:
    tune = kind.tune
    rules, standing = (tune.schedule, tune.parameters), (tune.thetas, tune.iteration)
    return Parts(kind.name, rules, standing, tune.history)


def _join_spsa(
    rules: tuple[Schedule, tuple[Parameter, ...]],
    standing: tuple[tuple[float, ...], int],
    trail: tuple[tuple[ParameterSample, ...], ...],
) -> SpsaTuning:
    return SpsaTuning(Tune(*rules, *standing, trail))


def _is_issued(ticket: object) -> bool:
    return isinstance(ticket, tuple) and all(isinstance(each, Issued) for each in ticket)


SHAPES: Mapping[str, Shape] = {
    "fixed": Shape(
        lambda kind: Parts(kind.name),
        lambda _rules, _standing, _trail: Fixed(),
        *(NOTHING,) * 4,
    ),
    "sprt": Shape(
        _split_sprt,
        lambda spec, state, _trail: SprtTest(spec, state),
        Json(Sprt),
        Json(SprtState),
        *(NOTHING,) * 2,
    ),
    "spsa": Shape(
        _split_spsa,
        _join_spsa,
        Json(tuple[Schedule, tuple[Parameter, ...]]),
        Json(tuple[tuple[float, ...], int]),
        Json(tuple[ParameterSample, ...]),
        Json(tuple[Issued, ...]),
        _is_issued,
    ),
}
"""Every kind this version knows, by name."""


def shape_of(name: str, shapes: Mapping[str, Shape] = SHAPES) -> Shape:
    if name not in shapes:
        raise UnknownKind(kind=name)
    return shapes[name]


def taken_apart(kind: Kind, shapes: Mapping[str, Shape] = SHAPES) -> Parts:
    return shape_of(kind.name, shapes).split(kind)


def put_together(parts: Parts, shapes: Mapping[str, Shape] = SHAPES) -> Kind:
    return shape_of(parts.name, shapes).join(parts.rules, parts.standing, parts.trail)


def without_trail(kind: Kind) -> Kind:
    """The kind as a list needs it."""
    parts = taken_apart(kind)
    return kind if not parts.trail else put_together(Parts(parts.name, parts.rules, parts.standing))


_TICKET: Json[dict[str, Any]] = Json(dict[str, Any])


def ticket_text(ticket: object | None) -> str | None:
    """A task's ticket under the name of the kind that gave it out."""
    if ticket is None:
        return None
    for name, shape in SHAPES.items():
        if shape.owns(ticket):
            return _TICKET.text({name: ticket})
    raise UnknownTicket(ticket=repr(ticket)[:100])


def ticket_of(text: str | None) -> object | None:
    if text is None:
        return None
    ((name, body),) = _TICKET.value(text).items()
    found: object = shape_of(name).ticket.converted(body)
    return found
