"""Draws the two sets of values that play one another, and remembers what was drawn.

An official worker gets unrounded values and rounds them itself, each side by its own chance. Our
worker gets final values, one perturbation per slot: a common draw rounds both sides of an int, so
that rounding adds no noise between them, and `c` is at least one half.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rookery.core.spsa.faults import WrongDrawSize
from rookery.core.spsa.flips import pack, signature, unpack
from rookery.core.spsa.parameter import Steps
from rookery.core.spsa.tune import Tune


@dataclass(frozen=True, slots=True)
class Issued:
    """What is stored until the games come back: the flips, and the iteration they belong to."""

    iteration: int
    packed_flips: bytes
    final: bool = False

    @property
    def signature(self) -> int:
        return signature(self.packed_flips)


@dataclass(frozen=True, slots=True)
class Perturbation:
    """Values for the new and the base engine, in the order of the tune's parameters."""

    issued: Issued
    new: tuple[float, ...]
    base: tuple[float, ...]
    steps: tuple[Steps, ...]
    flips: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Draw:
    """Chance for one perturbation: random bytes for the flips, a number in [0, 1) per parameter."""

    flips: bytes
    rounding: tuple[float, ...]


def perturb(tune: Tune, draw: bytes) -> Perturbation:
    """Unrounded values for an official worker."""
    flips = unpack(draw, len(tune.parameters))
    issued = Issued(tune.iteration, pack(flips))
    steps = tune.steps(tune.iteration)
    new, base = _moved(tune, steps, flips, 1), _moved(tune, steps, flips, -1)
    return Perturbation(issued, _clipped(tune, new), _clipped(tune, base), steps, flips)


def perturb_final(tune: Tune, draws: Iterable[Draw]) -> tuple[Perturbation, ...]:
    """Final values, one perturbation per draw, for a worker of ours."""
    steps = tune.steps(tune.iteration, final=True)
    return tuple(_final(tune, steps, draw) for draw in draws)


def _final(tune: Tune, steps: tuple[Steps, ...], draw: Draw) -> Perturbation:
    if len(draw.rounding) != len(tune.parameters):
        raise WrongDrawSize(found=len(draw.rounding), wanted=len(tune.parameters))
    flips = unpack(draw.flips, len(tune.parameters))
    issued = Issued(tune.iteration, pack(flips), final=True)
    new, base = _moved(tune, steps, flips, 1), _moved(tune, steps, flips, -1)
    return Perturbation(
        issued, settled(tune, new, draw.rounding), settled(tune, base, draw.rounding), steps, flips
    )


def settled(tune: Tune, values: Iterable[float], rounding: Sequence[float]) -> tuple[float, ...]:
    """Values as engines take them: clipped, and whole where they must be."""
    return tuple(
        parameter.line.settle(value, draw)
        for parameter, value, draw in zip(tune.parameters, values, rounding, strict=True)
    )


def _moved(
    tune: Tune, steps: tuple[Steps, ...], flips: tuple[int, ...], direction: int
) -> Iterable[float]:
    return (
        theta + direction * step.c * flip
        for theta, step, flip in zip(tune.thetas, steps, flips, strict=True)
    )


def _clipped(tune: Tune, values: Iterable[float]) -> tuple[float, ...]:
    return tuple(
        parameter.line.clip(value) for parameter, value in zip(tune.parameters, values, strict=True)
    )
