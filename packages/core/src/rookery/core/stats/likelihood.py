"""The generalised log-likelihood ratio of two Elo hypotheses, given counted results.

Under each hypothesis the most likely distribution is the observed one, tilted: each share p becomes
p / (1 + x * slope), with one tilt x for all bins. Finding x is the hot path of every accepted
result, hence the plain loops, the warm starts, and a separate unrolled version for the five bins of
pairs, which also exists in C (likelihood.c).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import hypot, isnan, log1p, log10, sqrt
from operator import mul

from rookery.core.stats.numbers import (
    BINS_WANTED,
    CONVERGED,
    MAX_NEWTON_STEPS,
    MAX_REFINEMENTS,
    MAX_SIGMAS,
    NELO_PER_SIGMA,
    PENTANOMIAL,
    ROUNDING,
    SMALLEST_SHARE,
    STEP_THAT_SETTLES,
    Z95,
    StatisticsFault,
    elo_of,
    moments,
    regularised,
    score_of,
    sum_in_order,
    values_of,
)

# The tilt of a distribution over game pairs, unrolled for its five bins.
#
# Every accepted report of a sequential test needs one or two of these, and they were its most
# expensive part. The results equal those of the loops below down to the last bit, in less than half
# the time. A test compares both.

Five = tuple[float, float, float, float, float]

_EVEN: Five = (0.2, 0.2, 0.2, 0.2, 0.2)


def tilt_of_five_to_sigmas(shares: Sequence[float], target: float) -> tuple[float, Five] | None:
    """Tilt until the mean is `target` sigmas above one half; None if the usual start fails."""
    p0, p1, p2, p3, p4 = shares
    slopes = _linearised(_EVEN, target)
    if max(slopes) <= 0.0 or min(slopes) >= 0.0:
        return None
    found, own = _EVEN, (p0, p1, p2, p3, p4)
    tilt = _tilt(own, slopes, 0.0)
    for _ in range(MAX_REFINEMENTS - 1):
        b0, b1, b2, b3, b4 = slopes
        last = found
        found = (
            p0 / (1.0 + tilt * b0),
            p1 / (1.0 + tilt * b1),
            p2 / (1.0 + tilt * b2),
            p3 / (1.0 + tilt * b3),
            p4 / (1.0 + tilt * b4),
        )
        if max(map(abs, map(float.__sub__, found, last))) < CONVERGED:
            break
        slopes = _linearised(found, target)
        tilt = _tilt(own, slopes, tilt)
    return tilt, slopes


def _linearised(found: Five, sigmas: float) -> Five:
    """Return the slopes of the condition, linearised around a distribution."""
    f0, f1, f2, f3, f4 = found
    mean = f1 * 0.25 + f2 * 0.5 + f3 * 0.75 + f4
    off1, off2, off3, off4 = 0.25 - mean, 0.5 - mean, 0.75 - mean, 1.0 - mean
    sq0, sq1, sq2, sq3, sq4 = mean * mean, off1 * off1, off2 * off2, off3 * off3, off4 * off4
    sigma = sqrt(f0 * sq0 + f1 * sq1 + f2 * sq2 + f3 * sq3 + f4 * sq4)
    offset = 0.5 + sigmas * sigma / 2.0
    bend = sigmas / (2.0 * sigma)
    return (
        0.0 - offset - bend * sq0,
        0.25 - offset - bend * sq1,
        0.5 - offset - bend * sq2,
        0.75 - offset - bend * sq3,
        1.0 - offset - bend * sq4,
    )


def _tilt(shares: Five, slopes: Five, start: float) -> float:
    """Like `_likelihood_tilt`, but here slopes of both signs exist."""
    p0, p1, p2, p3, p4 = shares
    b0, b1, b2, b3, b4 = slopes
    top, bottom = max(slopes), min(slopes)
    if top <= 0.0 or bottom >= 0.0:
        return 0.0
    left, right = -1.0 / top, -1.0 / bottom
    low = left * (1.0 - max(SMALLEST_SHARE, shares[slopes.index(top)]))
    high = right * (1.0 - max(SMALLEST_SHARE, shares[slopes.index(bottom)]))
    x = start if low < start < high else 0.0
    for _ in range(MAX_NEWTON_STEPS):
        r0, r1, r2 = b0 / (1.0 + x * b0), b1 / (1.0 + x * b1), b2 / (1.0 + x * b2)
        r3, r4 = b3 / (1.0 + x * b3), b4 / (1.0 + x * b4)
        q0, q1, q2, q3, q4 = p0 * r0, p1 * r1, p2 * r2, p3 * r3, p4 * r4
        value = q0 + q1 + q2 + q3 + q4
        fall = q0 * r0 + q1 * r1 + q2 * r2 + q3 * r3 + q4 * r4
        if value > 0.0:
            low = x
        else:
            high = x
        from_left, from_right = x - left, right - x
        change = value * (1.0 / from_left - 1.0 / from_right) - fall
        step = -value / change if change else 0.0
        if not low <= x + step <= high:
            step = (low + high) / 2.0 - x
        x += step
        size = abs(step)
        if size <= STEP_THAT_SETTLES * min(from_left, from_right) or size <= ROUNDING * abs(x):
            break
    return x


Tilted = tuple[float, Sequence[float]]


def logistic_ratio(bins: Sequence[int], elo0: float, elo1: float) -> float:
    """ln(likelihood at elo1 / likelihood at elo0), with logistic Elo."""
    values, counts = values_of(bins), regularised(bins)
    shares = _shares(counts)
    null = _tilt_to_mean(shares, values, score_of(elo0))
    alternative = _tilt_to_mean(shares, values, score_of(elo1))
    return _ratio(counts, null, alternative)


FiveRatio = Callable[..., float]
"""`normalised_ratio` in another form, of five counts and two hypotheses; not a number if it leaves
the case to the form in Python."""

_compiled: FiveRatio | None = None


def use_compiled(ratio: FiveRatio | None) -> None:
    """Use a faster form from now on, which must give the same bits; None uses Python's alone."""
    global _compiled  # noqa: PLW0603 - a property of the process, like the compiler it comes from
    _compiled = ratio


def normalised_ratio(bins: Sequence[int], nelo0: float, nelo1: float) -> float:
    """Return the log-likelihood ratio with both hypotheses in normalised Elo."""
    if _compiled is not None and len(bins) == 5:
        found = _compiled(*bins, nelo0, nelo1)
        if not isnan(found):
            return found
    return normalised_ratio_in_python(bins, nelo0, nelo1)


def normalised_ratio_in_python(bins: Sequence[int], nelo0: float, nelo1: float) -> float:
    values, counts = values_of(bins), regularised(bins)
    shares = _shares(counts)
    per_sample = sqrt(len(bins) // 2) / NELO_PER_SIGMA
    null = _tilt_to_sigmas(shares, values, nelo0 * per_sample)
    alternative = _tilt_to_sigmas(shares, values, nelo1 * per_sample)
    return _ratio(counts, null, alternative)


def shares_at(bins: Sequence[int], nelo: float) -> list[float]:
    """Return the distribution closest to these results whose normalised Elo is `nelo`."""
    shares = _shares(regularised(bins))
    sigmas = nelo * sqrt(len(bins) // 2) / NELO_PER_SIGMA
    tilt, slopes = _tilt_to_sigmas(shares, values_of(bins), sigmas)
    return [share / (1.0 + tilt * slope) for share, slope in zip(shares, slopes, strict=True)]


def bayes_ratio(
    bins: Sequence[int], elo0: float, elo1: float, trinomial: Sequence[int] | None = None
) -> float:
    """Return the log-likelihood ratio with both hypotheses in BayesElo, whose draw rate is taken
    from the single games."""
    low, high = bayes_bounds(elo0, elo1, trinomial if trinomial is not None else unpaired(bins))
    return logistic_ratio(bins, low, high)


def bayes_bounds(elo0: float, elo1: float, trinomial: Sequence[int]) -> tuple[float, float]:
    """BayesElo bounds converted to logistic Elo, for games with this share of draws."""
    if len(trinomial) != 3:
        raise StatisticsFault(BINS_WANTED)
    losses, draws, wins = regularised(trinomial)
    # The odds against a loss times the odds against a win, as one length on the Elo scale.
    draw_elo = 200.0 * (log10((draws + wins) / losses) + log10((draws + losses) / wins))
    return _bayes_to_logistic(elo0, draw_elo), _bayes_to_logistic(elo1, draw_elo)


def unpaired(bins: Sequence[int]) -> Sequence[int]:
    """Convert pairs to single games; a drawn pair counts as two draws."""
    if len(bins) == 3:
        return bins
    values_of(bins)
    ll, ld, even, wd, ww = bins
    return (2 * ll + ld, ld + 2 * even + wd, wd + 2 * ww)


def _bayes_to_logistic(bayes_elo: float, draw_elo: float) -> float:
    win, loss = score_of(bayes_elo - draw_elo), score_of(-bayes_elo - draw_elo)
    return elo_of(win + (1.0 - win - loss) / 2.0)


def _shares(counts: Sequence[float]) -> list[float]:
    total = sum_in_order(counts)
    return [count / total for count in counts]


def _ratio(counts: Sequence[float], null: Tilted, alternative: Tilted) -> float:
    (tilt0, slopes0), (tilt1, slopes1) = null, alternative
    return sum_in_order(
        count * (log1p(tilt0 * slope0) - log1p(tilt1 * slope1))
        for count, slope0, slope1 in zip(counts, slopes0, slopes1, strict=True)
    )


def _tilt_to_mean(shares: Sequence[float], values: Sequence[float], mean: float) -> Tilted:
    slopes = [value - mean for value in values]
    return _likelihood_tilt(shares, slopes, 0.0), slopes


def _tilt_to_sigmas(shares: Sequence[float], values: Sequence[float], sigmas: float) -> Tilted:
    """Tilt until the mean is `sigmas` above one half.

    Sigma changes with the tilt, so the condition is linearised around the last distribution,
    solved, and linearised again. From the second round on, slopes of both signs exist.
    """
    if sigmas == 0.0:
        return _tilt_to_mean(shares, values, 0.5)
    target = max(-MAX_SIGMAS, min(MAX_SIGMAS, sigmas))
    if values is PENTANOMIAL and (tilted := tilt_of_five_to_sigmas(shares, target)):
        return tilted
    return _refined(shares, values, target)


def _refined(shares: Sequence[float], values: Sequence[float], target: float) -> Tilted:
    found = [1.0 / len(values)] * len(values)
    slopes = _likelihood_linearised(values, target, *_mean_and_sigma(found, values))
    if max(slopes) <= 0.0 or min(slopes) >= 0.0:
        slopes = _likelihood_linearised(values, target, *_coin_with(target))
    tilt = _likelihood_tilt(shares, slopes, 0.0)
    for _ in range(MAX_REFINEMENTS - 1):
        last = found
        found = [share / (1.0 + tilt * slope) for share, slope in zip(shares, slopes, strict=True)]
        if max(map(abs, map(float.__sub__, found, last))) < CONVERGED:
            break
        slopes = _likelihood_linearised(values, target, *_mean_and_sigma(found, values))
        tilt = _likelihood_tilt(shares, slopes, tilt)
    return tilt, slopes


def _mean_and_sigma(shares: Sequence[float], values: Sequence[float]) -> tuple[float, float]:
    mean = sum_in_order(map(mul, shares, values))
    spread = [p * ((off := a - mean) * off) for p, a in zip(shares, values, strict=True)]
    return mean, sqrt(sum_in_order(spread))


def _likelihood_linearised(
    values: Sequence[float], sigmas: float, mean: float, sigma: float
) -> list[float]:
    offset = 0.5 + sigmas * sigma / 2.0
    bend = sigmas / (2.0 * sigma)
    return [value - offset - bend * ((off := mean - value) * off) for value in values]


def _coin_with(sigmas: float) -> tuple[float, float]:
    """Mean and sigma of the win-or-lose coin that meets a target too far for the usual start."""
    length = hypot(1.0, sigmas)
    return 0.5 + sigmas / (2.0 * length), 1.0 / (2.0 * length)


def _likelihood_tilt(shares: Sequence[float], slopes: Sequence[float], start: float) -> float:
    """Return the x with sum(p * b / (1 + x * b)) = 0; the sum decreases from one pole to the next.

    Newton's method with both poles multiplied out, inside a bracket: no tilted share may exceed
    one, so 1 + x * b >= p holds for the outermost slopes at the root. Without slopes of both signs
    there is no solution.
    """
    top, bottom = max(slopes), min(slopes)
    if top <= 0.0 or bottom >= 0.0:
        return 0.0
    left, right = -1.0 / top, -1.0 / bottom
    low = left * (1.0 - max(SMALLEST_SHARE, shares[slopes.index(top)]))
    high = right * (1.0 - max(SMALLEST_SHARE, shares[slopes.index(bottom)]))
    x = start if low < start < high else 0.0
    pairs = list(zip(shares, slopes, strict=True))
    for _ in range(MAX_NEWTON_STEPS):
        value = fall = 0.0
        for share, slope in pairs:
            ratio = slope / (1.0 + x * slope)
            part = share * ratio
            value += part
            fall += part * ratio
        if value > 0.0:
            low = x
        else:
            high = x
        from_left, from_right = x - left, right - x
        change = value * (1.0 / from_left - 1.0 / from_right) - fall
        step = -value / change if change else 0.0
        if not low <= x + step <= high:
            step = (low + high) / 2.0 - x
        x += step
        size = abs(step)
        if size <= STEP_THAT_SETTLES * min(from_left, from_right) or size <= ROUNDING * abs(x):
            break
    return x


# Normalised Elo: the score's distance from one half in sigmas, whatever the draw rate.
#
# It determines how many games a proof needs, so it is comparable across books and time controls.


@dataclass(frozen=True, slots=True)
class NormalisedElo:
    """Normalised Elo and half of its 95 % interval."""

    nelo: float
    half_width: float


@dataclass(frozen=True, slots=True)
class PairingGain:
    """The gain from playing each opening twice, with reversed colours."""

    variance_ratio: float

    @property
    def games_saved(self) -> float:
        """The share of games that unpaired play would need in addition; negative if pairing
        lost."""
        return self.variance_ratio - 1.0


def normalised_elo(bins: Sequence[int]) -> NormalisedElo:
    counted = moments(bins)
    sigma = sqrt(counted.variance)
    sigmas = (counted.mean - 0.5) / sigma
    scale = NELO_PER_SIGMA / sqrt(counted.games_per_sample)
    skew, kurtosis = measure_shape(bins)
    # The delta method: sigma is estimated from the same games, so its error counts as well.
    spread = max(0.0, 1.0 - sigmas * skew + sigmas**2 * (kurtosis - 1.0) / 4.0)
    return NormalisedElo(sigmas * scale, Z95 * scale * sqrt(spread / counted.samples))


def pairing_gain(trinomial: Sequence[int], pentanomial: Sequence[int]) -> PairingGain:
    """Compare the spread of the games as single games with their spread as pairs."""
    singles, pairs = moments(trinomial), moments(pentanomial)
    return PairingGain(singles.sigma_per_game**2 / pairs.sigma_per_game**2)


def measure_shape(bins: Sequence[int]) -> tuple[float, float]:
    """Return the skewness and the kurtosis of one sample's score."""
    counted, counts = moments(bins), regularised(bins)
    sigma = sqrt(counted.variance)
    steps = [(value - counted.mean) / sigma for value in values_of(bins)]
    total = sum_in_order(counts)
    third = sum_in_order(count * step**3 for count, step in zip(counts, steps, strict=True))
    fourth = sum_in_order(count * step**4 for count, step in zip(counts, steps, strict=True))
    return third / total, fourth / total
