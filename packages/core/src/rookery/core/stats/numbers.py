"""What all statistics share: distributions, roots, the Elo scales, counted results."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import erfc, exp, lgamma, log, log10, pi, sqrt
from operator import mul
from statistics import NormalDist

# The normal distribution, exact far into its tails.

_STANDARD = NormalDist()
_ROOT_TWO = sqrt(2.0)
_ROOT_TWO_PI = sqrt(2.0 * pi)

# The two-sided 95 % interval.
Z95 = _STANDARD.inv_cdf(0.975)

# Below this log-probability, exp() is no longer exact.
_SMALLEST_LOG = -690.0
# From here on the tail's asymptotic series is exact to thirteen digits.
_FAR = 25.0


def cdf(z: float) -> float:
    return 0.5 * erfc(-z / _ROOT_TWO)


def quantile(probability: float) -> float:
    """Return the z with this probability below it; 0 and 1 give the largest values that doubles
    allow."""
    return _STANDARD.inv_cdf(max(1e-300, min(1.0 - 2.0**-53, probability)))


def upper_quantile(log_tail: float) -> float:
    """Return the z with probability exp(log_tail) above it, however small that is."""
    if log_tail > _SMALLEST_LOG:
        return -quantile(exp(min(log_tail, 0.0)))
    z = sqrt(-2.0 * log_tail)
    for _ in range(6):
        scaled = scaled_tail(z)
        z += (log(scaled) - z * z / 2.0 - log_tail) * scaled * _ROOT_TWO_PI
    return z


def scaled_tail(z: float) -> float:
    """exp(z^2 / 2) times the probability above z, for z >= 0: never underflows."""
    if z < _FAR:
        return exp(z * z / 2.0) * 0.5 * erfc(z / _ROOT_TWO)
    r = 1.0 / (z * z)
    series = 1.0 - r * (1.0 - 3.0 * r * (1.0 - 5.0 * r * (1.0 - 7.0 * r * (1.0 - 9.0 * r))))
    return series / (z * _ROOT_TWO_PI)


def grown_tail(exponent: float, z: float) -> float:
    """exp(exponent) times the probability above z, where the product stays at most one."""
    if z > 0.0:
        return exp(min(0.0, exponent - z * z / 2.0)) * scaled_tail(z)
    return exp(min(0.0, exponent)) * cdf(-z)


# The chi-square distribution with an even number of degrees of freedom.

NEGLIGIBLE = 1e-17


def upper_tail(value: float, degrees: int) -> float:
    """Return the chance to exceed `value`: that of fewer than degrees / 2 events where value / 2
    are due.

    The sum starts at its largest term on the side where terms fall, so that it stays short.
    """
    due, events = max(value, 0.0) / 2.0, degrees // 2
    if due == 0.0:
        return 1.0
    if due >= events - 1:
        return min(1.0, _falling_sum(due, events - 1, -1))
    return max(0.0, 1.0 - _falling_sum(due, events, 1))


def _falling_sum(due: float, first: int, way: int) -> float:
    """Return the sum of the Poisson chances of `first` events and of ever more (way 1) or fewer
    (way -1)."""
    term = exp(first * log(due) - due - lgamma(first + 1.0))
    total, events = term, first
    while term > NEGLIGIBLE * total:
        term *= due / (events + 1) if way > 0 else events / due
        events += way
        total += term
    return total


def sum_in_order(numbers: Iterable[float]) -> float:
    """Add one after the other, rounding each time: equal to the last bit on every Python and in C.

    The built-in `sum` compensates for rounding since Python 3.12.
    """
    total = 0.0
    for number in numbers:
        total += number
    return total


# Roots of a function of one variable that changes sign within a bracket.

MAX_STEPS = 200


def root(
    function: Callable[[float], float], low: float, high: float, *, within: float = 1e-14
) -> float:
    """Return the point where `function` crosses zero; its values at low and high differ in sign.

    Chandrupatla's method: inverse quadratic steps where they are safe, halving elsewhere.
    """
    newest, other = low, high
    value, other_value = function(low), function(high)
    share = 0.5
    for _ in range(MAX_STEPS):
        oldest, oldest_value = newest, value
        newest += share * (other - newest)
        value = function(newest)
        if (value > 0.0) != (oldest_value > 0.0):
            oldest, other = other, oldest
            oldest_value, other_value = other_value, oldest_value
        best = newest if abs(value) < abs(other_value) else other
        width = abs(other - newest)
        tolerance = within + 4e-16 * abs(best)
        if value == 0.0 or tolerance > width / 2.0:
            return best
        share = _share(newest, other, oldest, value, other_value, oldest_value)
        share = min(1.0 - tolerance / width, max(tolerance / width, share))
    return newest


def _share(a: float, b: float, c: float, fa: float, fb: float, fc: float) -> float:
    """How far from a to b the next guess is: by interpolation if the curve is smooth enough
    there."""
    xi = (a - b) / (c - b)
    phi = (fa - fb) / (fc - fb)
    if not (phi * phi < xi and (1.0 - phi) * (1.0 - phi) < 1.0 - xi):
        return 0.5
    return fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)


# The Elo scales: logistic Elo against score, and normalised Elo against score in sigmas.

# A score outside this range says "very lopsided" and no more.
MIN_SCORE = 0.001
MAX_SCORE = 0.999

# Elo beyond this is the same score to ten digits; 10 ** (elo / 400) must not overflow.
STEEPEST_ELO = 4000.0

# Normalised Elo of one sigma per game; it makes both scales agree for a sigma of one half.
NELO_PER_SIGMA = 800.0 / log(10.0)


def score_of(elo: float) -> float:
    bounded = max(-STEEPEST_ELO, min(STEEPEST_ELO, elo))
    return float(1.0 / (1.0 + 10.0 ** (-bounded / 400.0)))


def elo_of(score: float) -> float:
    bounded = max(MIN_SCORE, min(MAX_SCORE, score))
    # Subtracted from zero, so that an even score is 0.0 and not -0.0.
    return 0.0 - 400.0 * log10(1.0 / bounded - 1.0)


class StatisticsFault(ValueError):
    """Numbers that a statistic can't use; the text says what it expects."""


BINS_WANTED = (
    "Results are 3 counts (losses, draws, wins) or 5 counts of pairs, none of them negative."
)


# Counted results: three bins (losses, draws, wins) or five bins of game pairs.
#
# A bin's value is the score it stands for, from 0 to 1. A pair is one sample that holds two games.

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
    raise StatisticsFault(BINS_WANTED)


def regularised(bins: Sequence[int]) -> list[float]:
    if min(bins, default=-1) < 0:
        raise StatisticsFault(BINS_WANTED)
    return [float(count) if count else EMPTY_BIN for count in bins]


def moments(bins: Sequence[int]) -> Moments:
    values = values_of(bins)
    counts = regularised(bins)
    samples = sum_in_order(counts)
    mean = sum_in_order(map(mul, counts, values)) / samples
    squares = sum_in_order(
        count * (value - mean) ** 2 for count, value in zip(counts, values, strict=True)
    )
    return Moments(samples, mean, squares / samples, games_per_sample=len(bins) // 2)


def games_in(bins: Sequence[int]) -> int:
    """Return the games that were really played, without the corrections for empty bins."""
    values_of(bins)
    return sum(bins) * (len(bins) // 2)


# How exact the likelihood ratios are, and how far they are searched for.

CONVERGED = 1e-9
MAX_REFINEMENTS = 10
MAX_NEWTON_STEPS = 100

# Newton squares the error: after a step this small, against the distance to the pole, x is exact.
STEP_THAT_SETTLES = 1e-7
ROUNDING = 4e-16
# Nearer to a pole than this, doubles can't tell a distance from none.
SMALLEST_SHARE = 1e-14

# A target beyond this many sigmas is the same hypothesis: "always wins".
MAX_SIGMAS = 100.0
