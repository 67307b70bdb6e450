"""How each kind of run is kept: rules that stay, where it stands now, and what led there.

A new kind gets a `Shape` of its own here and no column anywhere. What a kind decides by is written
once; only where it stands is written with every result; its trail is only ever appended to.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from rookery.core.kinds import Fixed, Kind, SprtTest, SpsaTuning
from rookery.core.spsa import Issued, Parameter, Sample, Schedule, Tune
from rookery.core.stats.sprt import Sprt, SprtState
from rookery.storage.fleet.json import Json
from rookery.storage.problems import Problem


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
    trail: tuple[tuple[Sample, ...], ...],
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
        Json(tuple[Sample, ...]),
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
