"""How fast an SPRT's log-likelihood ratio moves, game by game, for each true Elo.

Per game it spreads by `variance` and drifts by pull * variance, where the pull is the distance
of the true Elo from the middle of the bounds, counted in widths of the bounds.
"""

from dataclasses import dataclass
from math import sqrt

from rookery.core.stats.bins import moments
from rookery.core.stats.brownian import Walk
from rookery.core.stats.scale import NELO_PER_SIGMA, score_of
from rookery.core.stats.sprt import EloModel, Sprt

# Pairs of a strong engine at short time control from a book of unbalanced openings, per thousand.
TYPICAL_PAIRS = (10, 230, 520, 230, 10)
TYPICAL_SIGMA = moments(TYPICAL_PAIRS).sigma_per_game

# The mean overshoot of a walk in steps, in step sigmas (-zeta(1/2) / sqrt(2 pi)).
MEAN_OVERSHOOT = 0.5825971579390107

# An Elo this many widths off decides the test in its first game; more would overflow.
STRONGEST_PULL = 1e6


@dataclass(frozen=True, slots=True)
class Pace:
    spec: Sprt
    variance: float
    corrected: bool = True

    def walk(self, elo: float, llr: float = 0.0) -> Walk:
        """The way that is left from `llr` to the bounds; elo is on the scale of the bounds.

        A corrected test ends, on average, on its nominal bounds; an uncorrected one beyond them.
        """
        spec = self.spec
        middle, width = (spec.elo0 + spec.elo1) / 2.0, spec.elo1 - spec.elo0
        beyond = 0.0 if self.corrected else MEAN_OVERSHOOT * self.batch_sigma
        return Walk(
            low=spec.lower - beyond - llr,
            high=spec.upper + beyond - llr,
            drift=max(-STRONGEST_PULL, min(STRONGEST_PULL, (elo - middle) / width)) * self.variance,
            variance=self.variance,
        )

    @property
    def batch_sigma(self) -> float:
        return sqrt(2.0 * self.spec.batch_size * self.variance)


def pace_of(spec: Sprt, sigma_per_game: float = TYPICAL_SIGMA, *, corrected: bool = True) -> Pace:
    """Normalised bounds fix the pace; for the others it depends on how much the games spread.

    A test is `corrected` as long as it keeps its overshoot record.
    """
    if spec.model is EloModel.NORMALISED:
        step = (spec.elo1 - spec.elo0) / NELO_PER_SIGMA
    else:
        step = (score_of(spec.elo1) - score_of(spec.elo0)) / sigma_per_game
    return Pace(spec, step * step, corrected)
