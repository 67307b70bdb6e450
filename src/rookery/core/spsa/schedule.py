"""How the step sizes of a tune shrink with its iterations; one iteration is one pair of games."""

import math
from dataclasses import dataclass

from rookery.core.spsa.faults import BadSetting

DEFAULT_A_RATIO = 0.1
DEFAULT_ALPHA = 0.602
DEFAULT_GAMMA = 0.101
MOST_PAIRS = 10**9
LARGEST_EXPONENT = 10.0
LARGEST_A_RATIO = 1000.0


@dataclass(frozen=True, slots=True)
class Decay:
    """What the first `c` and the first `a` of every parameter are divided by."""

    c: float
    a: float


@dataclass(frozen=True, slots=True)
class Schedule:
    """The length of a tune and the exponents with which `c` and `a` decay over it."""

    iterations: int
    stability: int
    alpha: float = DEFAULT_ALPHA
    gamma: float = DEFAULT_GAMMA

    def decay(self, iteration: int) -> Decay:
        """The decay when `iteration` pairs have been played."""
        k = iteration + 1
        return Decay(math.pow(k, self.gamma), math.pow(self.stability + k, self.alpha))

    @property
    def last(self) -> int:
        """The iteration at which `c_end` and `r_end` are reached."""
        return self.iterations - 1


def schedule_for(
    games: int,
    *,
    a_ratio: float = DEFAULT_A_RATIO,
    alpha: float = DEFAULT_ALPHA,
    gamma: float = DEFAULT_GAMMA,
) -> Schedule:
    """The schedule of a tune over that many games."""
    _within("num_games", games, 2, 2 * MOST_PAIRS)
    _within("A", a_ratio, 0, LARGEST_A_RATIO)
    _within("alpha", alpha, 0, LARGEST_EXPONENT)
    _within("gamma", gamma, 0, LARGEST_EXPONENT)
    return Schedule(games // 2, int(a_ratio * games / 2), alpha, gamma)


def _within(field: str, found: float, low: float, high: float) -> None:
    if not low <= found <= high:
        raise BadSetting(field=field, found=found, low=low, high=high)
