"""Moves the parameters by the result of a batch, and keeps a thinned history of where they were.

The steps are those of the iteration the batch was issued at, the values those of now: other
machines may have moved them in between.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from rookery.core.spsa.flips import unpack
from rookery.core.spsa.parameter import Steps
from rookery.core.spsa.perturbation import Issued
from rookery.core.spsa.tune import Sample, Tune

MOST_SAMPLES = 100
"""A history's length for few parameters; the product of both is kept within bounds for many."""
MOST_SAMPLE_VALUES = 10_000
MANY_PARAMETERS = 1000


@dataclass(frozen=True, slots=True)
class Batch:
    """The games of one perturbation, as counted by the new engine, with the echoed signature."""

    games: int
    wins: int
    losses: int
    signature: int


def fold(tune: Tune, issued: Issued | None, batch: Batch) -> Tune:
    """The tune after a batch; unchanged where nothing was issued or the signature is another."""
    if issued is None or issued.signature != batch.signature:
        return tune
    steps = tune.steps(issued.iteration, final=issued.final)
    flips = unpack(issued.packed_flips, len(tune.parameters))
    moved = replace(
        tune,
        thetas=_moved(tune, steps, flips, batch.wins - batch.losses),
        iteration=tune.iteration + batch.games // 2,
    )
    return _remembered(moved, steps)


def fold_all(tune: Tune, pairs: Iterable[tuple[Issued, Batch]]) -> Tune:
    """The tune after several perturbations that were handed out together, in their order."""
    for issued, batch in pairs:
        tune = fold(tune, issued, batch)
    return tune


def _moved(
    tune: Tune, steps: tuple[Steps, ...], flips: tuple[int, ...], result: int
) -> tuple[float, ...]:
    return tuple(
        parameter.line.clip(theta + step.r * step.c * result * flip)
        for parameter, theta, step, flip in zip(
            tune.parameters, tune.thetas, steps, flips, strict=True
        )
    )


def _remembered(tune: Tune, steps: tuple[Steps, ...]) -> Tune:
    if len(tune.history) + 1 > tune.iteration / sampling_period(tune):
        return tune
    sample = tuple(
        Sample(theta, step.r, step.c) for theta, step in zip(tune.thetas, steps, strict=True)
    )
    return replace(tune, history=(*tune.history, sample))


def sampling_period(tune: Tune) -> float:
    """How many iterations lie between two samples of the history."""
    return tune.schedule.iterations / _samples(len(tune.parameters))


def _samples(parameters: int) -> float:
    if parameters < MOST_SAMPLES:
        return MOST_SAMPLES
    return MOST_SAMPLE_VALUES / parameters if parameters < MANY_PARAMETERS else 1
