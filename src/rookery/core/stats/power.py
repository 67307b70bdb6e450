"""What a fixed number of games can show: power, games needed, smallest Elo that shows.

The test behind it is one-sided: the new version counts as better when its likelihood of
superiority exceeds 1 - alpha.
"""

from dataclasses import dataclass
from math import sqrt

from rookery.core.stats.faults import UnusablePowerQuestion
from rookery.core.stats.normal import Z95, cdf, quantile
from rookery.core.stats.pace import TYPICAL_SIGMA
from rookery.core.stats.scale import elo_of, score_of


@dataclass(frozen=True, slots=True)
class FixedTest:
    """How much single games spread, and how often equal engines may look unequal."""

    sigma_per_game: float = TYPICAL_SIGMA
    alpha: float = 0.05

    def __post_init__(self) -> None:
        if not (0.0 < self.sigma_per_game <= 1.0 and 1e-9 <= self.alpha <= 0.5):
            raise UnusablePowerQuestion

    def power(self, games: float, elo: float) -> float:
        """The chance to see that a version with this true Elo is better."""
        _require(games > 0.0)
        shift = (score_of(elo) - 0.5) * sqrt(games) / self.sigma_per_game
        return cdf(shift - self._threshold)

    def games_needed(self, elo: float, power: float) -> float:
        _require(score_of(elo) > 0.5 and self.alpha < power < 1.0)
        sigmas = self._threshold + quantile(power)
        return (sigmas * self.sigma_per_game / (score_of(elo) - 0.5)) ** 2

    def smallest_elo(self, games: float, power: float) -> float:
        """The true Elo that shows with this power; large values stop at the end of the scale."""
        _require(games > 0.0 and self.alpha < power < 1.0)
        sigmas = self._threshold + quantile(power)
        return elo_of(0.5 + sigmas * self.sigma_per_game / sqrt(games))

    def half_width(self, games: float) -> float:
        """Half of the 95 % interval around an Elo near zero."""
        _require(games > 0.0)
        return elo_of(0.5 + Z95 * self.sigma_per_game / sqrt(games))

    @property
    def _threshold(self) -> float:
        return -quantile(self.alpha)


def _require(condition: bool) -> None:
    if not condition:
        raise UnusablePowerQuestion
