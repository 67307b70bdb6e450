"""The Elo of a fixed number of games, with its 95 % interval and likelihood of superiority."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from rookery.core.stats.bins import moments
from rookery.core.stats.normal import Z95, cdf
from rookery.core.stats.scale import elo_of


@dataclass(frozen=True, slots=True)
class EloEstimate:
    elo: float
    half_width: float
    los: float

    @property
    def low(self) -> float:
        return self.elo - self.half_width

    @property
    def high(self) -> float:
        return self.elo + self.half_width


def estimate_elo(bins: Sequence[int]) -> EloEstimate:
    """Logistic Elo. Pairs share their opening, so their spread is taken pair by pair."""
    counted = moments(bins)
    error = sqrt(counted.variance / counted.samples)
    mean, reach = counted.mean, Z95 * error
    return EloEstimate(
        elo=elo_of(mean),
        half_width=(elo_of(mean + reach) - elo_of(mean - reach)) / 2.0,
        los=cdf((mean - 0.5) / error),
    )
