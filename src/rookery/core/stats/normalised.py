"""Normalised Elo: the score's distance from one half in sigmas, whatever the draw rate.

It says how many games a proof needs, so it compares across books and time controls.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from rookery.core.stats.bins import moments, regularised, values_of
from rookery.core.stats.normal import Z95
from rookery.core.stats.scale import NELO_PER_SIGMA


@dataclass(frozen=True, slots=True)
class NormalisedElo:
    nelo: float
    half_width: float


@dataclass(frozen=True, slots=True)
class PairingGain:
    """How much playing each opening twice, with colours reversed, was worth."""

    variance_ratio: float

    @property
    def games_saved(self) -> float:
        """The share of games that unpaired play would have needed on top; below zero: lost."""
        return self.variance_ratio - 1.0


def normalised_elo(bins: Sequence[int]) -> NormalisedElo:
    counted = moments(bins)
    sigma = sqrt(counted.variance)
    sigmas = (counted.mean - 0.5) / sigma
    scale = NELO_PER_SIGMA / sqrt(counted.games_per_sample)
    skew, kurtosis = _shape(bins, counted.mean, sigma)
    # The delta method: sigma is estimated from the same games, so its error counts as well.
    spread = max(0.0, 1.0 - sigmas * skew + sigmas**2 * (kurtosis - 1.0) / 4.0)
    return NormalisedElo(sigmas * scale, Z95 * scale * sqrt(spread / counted.samples))


def pairing_gain(trinomial: Sequence[int], pentanomial: Sequence[int]) -> PairingGain:
    """The spread of the same games taken one by one, against their spread as pairs."""
    singles, pairs = moments(trinomial), moments(pentanomial)
    return PairingGain(singles.sigma_per_game**2 / pairs.sigma_per_game**2)


def _shape(bins: Sequence[int], mean: float, sigma: float) -> tuple[float, float]:
    counts = regularised(bins)
    steps = [(value - mean) / sigma for value in values_of(bins)]
    total = sum(counts)
    third = sum(count * step**3 for count, step in zip(counts, steps, strict=True))
    fourth = sum(count * step**4 for count, step in zip(counts, steps, strict=True))
    return third / total, fourth / total
