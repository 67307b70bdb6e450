"""Counted results: three bins (losses, draws, wins) or five bins of game pairs.

A bin's value is the score it stands for, from 0 to 1. A pair is one sample that holds two games.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from operator import mul

from rookery.core.stats.faults import UnusableBins

# An empty bin counts as a thousandth of a result, so that no logarithm or division meets zero.
EMPTY_BIN = 0.001

TRINOMIAL = (0.0, 0.5, 1.0)
PENTANOMIAL = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True, slots=True)
class Moments:
    """Sample count, mean score and the variance of one sample."""

    samples: float
    mean: float
    variance: float
    games_per_sample: int

    @property
    def games(self) -> float:
        return self.samples * self.games_per_sample

    @property
    def sigma_per_game(self) -> float:
        """The spread that independent games would need to be as informative as these samples."""
        return sqrt(self.variance * self.games_per_sample)


def values_of(bins: Sequence[float]) -> tuple[float, ...]:
    if len(bins) == 5:
        return PENTANOMIAL
    if len(bins) == 3:
        return TRINOMIAL
    raise UnusableBins


def regularised(bins: Sequence[int]) -> list[float]:
    if min(bins, default=-1) < 0:
        raise UnusableBins
    return [float(count) if count else EMPTY_BIN for count in bins]


def moments(bins: Sequence[int]) -> Moments:
    values = values_of(bins)
    counts = regularised(bins)
    samples = sum(counts)
    mean = sum(map(mul, counts, values)) / samples
    squares = sum(count * (value - mean) ** 2 for count, value in zip(counts, values, strict=True))
    return Moments(samples, mean, squares / samples, games_per_sample=len(bins) // 2)


def games_in(bins: Sequence[int]) -> int:
    """The games that were really played; empty bins count nothing here."""
    values_of(bins)
    return sum(bins) * (len(bins) // 2)
