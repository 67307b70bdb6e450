"""Plays a tune: asks for values before each batch and reports what they came to."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from msgspec import UNSET

from rookery.core.results import Results
from rookery.protocol.worker.answers import Settings, SpsaAnswer
from rookery.worker.match.job import PairJob
from rookery.worker.match.schedule import Openings
from rookery.worker.match.spec import EngineSpec

Chance = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Values:
    """One perturbation: both engines with their options, and how the server knows it."""

    new: EngineSpec
    base: EngineSpec
    signature: int


@dataclass(frozen=True, slots=True)
class Draw:
    """What one answer to request_spsa holds."""

    values: tuple[Values, ...]
    signature: int


def drawn(answer: SpsaAnswer, new: EngineSpec, base: EngineSpec, chance: Chance) -> Draw:
    """The engines of a batch. Values for an official worker are rounded here, each by chance."""
    joint = 0 if answer.sig is UNSET else answer.sig
    if answer.slots is not UNSET:
        parts = [
            Values(_with(new, slot.w_params, None), _with(base, slot.b_params, None), slot.sig)
            for slot in answer.slots
        ]
        return Draw(tuple(parts), joint)
    ours = () if answer.w_params is UNSET else answer.w_params
    theirs = () if answer.b_params is UNSET else answer.b_params
    one = Values(_with(new, ours, chance), _with(base, theirs, chance), joint)
    return Draw((one,), joint)


def tune_jobs(
    draw: Draw, openings: Openings, before: Results, first: Results, pairs: int
) -> Iterator[PairJob]:
    """The pairs of a batch, from the openings that follow those of earlier batches."""
    offset = (before.games - first.games) // 2
    for number in range(pairs):
        values = draw.values[number % len(draw.values)]
        yield PairJob(number, openings(offset + number), values.new, values.base)


def _with(spec: EngineSpec, settings: Settings, chance: Chance | None) -> EngineSpec:
    tuned = [(one.name, _written(one.value, chance)) for one in settings]
    return replace(spec, options=(*_without(spec.options, tuned), *tuned))


def _without(
    options: Sequence[tuple[str, str]], tuned: Sequence[tuple[str, str]]
) -> Iterator[tuple[str, str]]:
    names = {name for name, _ in tuned}
    return (option for option in options if option[0] not in names)


def _written(value: float, chance: Chance | None) -> str:
    if chance is not None:
        return str(math.floor(value + chance()))
    # Engines read no exponents.
    return format(Decimal(format(value + 0.0, ".15g")), "f")
