"""The sequential probability ratio test: its specification, and its state after each result.

Results arrive in batches, so the log-likelihood ratio jumps over a bound instead of hitting it. The
overshoot record estimates the mean jump past a new extreme on either side, and the bounds are moved
inwards by it. This requires that every update is evaluated separately, in order. An update may be
smaller than a batch, since jumps of different sizes have a mean, too. A larger update results from
merged ones, says nothing about normal jumps, and restarts the record.
"""

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log

from msgspec import Struct, field
from msgspec.structs import replace

from rookery.core.stats.likelihood import bayes_ratio, logistic_ratio, normalised_ratio
from rookery.core.stats.numbers import StatisticsFault

MAX_BOUND = 1000.0
MIN_WIDTH = 0.01
MIN_RATE = 1e-9
MAX_RATES = 0.99
DEFAULT_RATE = 0.05


class EloModel(enum.Enum):
    """The Elo scale of elo0 and elo1; the values are the names in the wire formats."""

    LOGISTIC = "logistic"
    NORMALISED = "normalized"
    BAYES = "BayesElo"


class Verdict(enum.Enum):
    RUNNING = ""
    ACCEPTED = "accepted"
    REJECTED = "rejected"


def check_bounds(elo0: float, elo1: float) -> None:
    """Raise StatisticsFault if a test can't decide between these two."""
    if not (abs(elo0) <= MAX_BOUND and abs(elo1) <= MAX_BOUND):
        raise StatisticsFault("elo0 and elo1 must be numbers between -1000 and 1000.")
    if elo1 - elo0 < MIN_WIDTH - 1e-9:
        raise StatisticsFault("elo1 must exceed elo0 by at least 0.01.")


def check_rates(alpha: float, beta: float) -> None:
    """Raise StatisticsFault if no test has these rates of error."""
    if not (min(alpha, beta) >= MIN_RATE and alpha + beta <= MAX_RATES):
        raise StatisticsFault(
            "alpha and beta must be at least 1e-9 each and at most 0.99 together."
        )


class Sprt(Struct, frozen=True, gc=False):
    """The specification of a test between elo0 and elo1, with the chances alpha of wrong acceptance
    and beta of wrong rejection."""

    elo0: float
    elo1: float
    model: EloModel = field(name="elo_model", default=EloModel.NORMALISED)
    alpha: float = DEFAULT_RATE
    beta: float = DEFAULT_RATE
    batch_size: int = 1

    def __post_init__(self) -> None:
        check_bounds(self.elo0, self.elo1)
        check_rates(self.alpha, self.beta)
        if self.batch_size < 1:
            raise StatisticsFault("The batch size must be at least one pair.")

    @property
    def lower(self) -> float:
        return _plain_bounds(self.alpha, self.beta)[0]

    @property
    def upper(self) -> float:
        return _plain_bounds(self.alpha, self.beta)[1]

    def log_ratio(self, bins: Sequence[int], trinomial: Sequence[int] | None = None) -> float:
        """Return the log-likelihood ratio; only BayesElo uses the single games in `trinomial`."""
        if self.model is EloModel.NORMALISED:
            return normalised_ratio(bins, self.elo0, self.elo1)
        if self.model is EloModel.LOGISTIC:
            return logistic_ratio(bins, self.elo0, self.elo1)
        return bayes_ratio(bins, self.elo0, self.elo1, trinomial)


class Overshoot(Struct, frozen=True, gc=False):
    """The record of jumps to a new low (0) and a new high (1): last extreme, sum, sum of
    squares."""

    last_update: int = 0
    skipped_updates: int = 0
    ref0: float = 0.0
    m0: float = 0.0
    sq0: float = 0.0
    ref1: float = 0.0
    m1: float = 0.0
    sq1: float = 0.0

    @property
    def low(self) -> float:
        """How far the lower bound moves up."""
        return -self.sq0 / (2.0 * self.m0) if self.m0 else 0.0

    @property
    def high(self) -> float:
        """How far the upper bound moves down."""
        return self.sq1 / (2.0 * self.m1) if self.m1 else 0.0

    def after(self, llr: float, pairs: int, batch_size: int) -> "Overshoot":
        """Return the record after an update to `pairs` pairs in all, which must not be fewer than
        before."""
        if pairs == self.last_update:
            return self
        if pairs > self.last_update + batch_size:
            skipped = self.skipped_updates + pairs - self.last_update - 1
            return replace(self, last_update=pairs, skipped_updates=skipped, ref0=llr, ref1=llr)
        down, up = min(llr - self.ref0, 0.0), max(llr - self.ref1, 0.0)
        return Overshoot(
            pairs,
            self.skipped_updates,
            min(llr, self.ref0),
            self.m0 + down,
            self.sq0 + down * down,
            max(llr, self.ref1),
            self.m1 + up,
            self.sq1 + up * up,
        )


class SprtState(Struct, frozen=True, gc=False):
    """The state of a test. Without an overshoot record, the plain bounds decide."""

    llr: float = 0.0
    verdict: Verdict = field(name="state", default=Verdict.RUNNING)
    overshoot: Overshoot | None = Overshoot()
    lost_samples: int = 0
    illegal_update: int | None = None
    """Stored by earlier versions for an update that was no whole batch."""

    def after(
        self, spec: Sprt, bins: Sequence[int], trinomial: Sequence[int] | None = None
    ) -> "SprtState":
        """Return the state after the results so far are `bins` (cumulative)."""
        pairs = sum(bins)
        llr = spec.log_ratio(bins, trinomial)
        kept = self._without_unusable_overshoot(pairs)
        overshoot = kept.overshoot and kept.overshoot.after(llr, pairs, spec.batch_size)
        return SprtState(
            llr,
            _verdict(llr, *_bounds(spec, overshoot)),
            overshoot,
            kept.lost_samples,
            kept.illegal_update,
        )

    def bounds(self, spec: Sprt) -> tuple[float, float]:
        """Return the lower and upper bound that decide, moved inwards by the overshoot."""
        return _bounds(spec, self.overshoot)

    def _without_unusable_overshoot(self, pairs: int) -> "SprtState":
        if self.overshoot and pairs < self.overshoot.last_update:
            lost = self.overshoot.last_update - pairs
            return replace(self, overshoot=None, lost_samples=lost)
        return self


@lru_cache(maxsize=256)
def _plain_bounds(alpha: float, beta: float) -> tuple[float, float]:
    """Return the bounds without overshoot; cached, since each report needs them."""
    return log(beta / (1.0 - alpha)), log((1.0 - beta) / alpha)


def _bounds(spec: Sprt, overshoot: Overshoot | None) -> tuple[float, float]:
    lower, upper = _plain_bounds(spec.alpha, spec.beta)
    if overshoot is None:
        return lower, upper
    return lower + overshoot.low, upper - overshoot.high


def _verdict(llr: float, lower: float, upper: float) -> Verdict:
    if llr > upper:
        return Verdict.ACCEPTED
    return Verdict.REJECTED if llr < lower else Verdict.RUNNING


# What other bounds would have concluded from the same results; this is never a verdict.
#
# Bounds that are chosen after looking at the results have no defined error rates.


@dataclass(frozen=True, slots=True)
class HypotheticalOutcome:
    """The state that the test would have, or the first result at which it would have ended."""

    spec: Sprt
    llr: float
    ending: Verdict
    samples: int


def replay_with_bounds(
    spec: Sprt, history: Iterable[Sequence[int]], trinomial: Sequence[int] | None = None
) -> HypotheticalOutcome:
    """Apply other bounds to cumulative results, oldest first, without overshoot correction; gaps
    are allowed."""
    seen = HypotheticalOutcome(spec, 0.0, Verdict.RUNNING, 0)
    for bins in history:
        state = SprtState(overshoot=None).after(spec, bins, trinomial)
        seen = HypotheticalOutcome(spec, state.llr, state.verdict, sum(bins))
        if state.verdict is not Verdict.RUNNING:
            break
    return seen


# A test of fixed games counts as decided if its likelihood of superiority is above SURE or below
# HOPELESS.
SURE = 0.95
HOPELESS = 0.05


def fixed_verdict(los: float) -> Verdict:
    if los > SURE:
        return Verdict.ACCEPTED
    return Verdict.REJECTED if los < HOPELESS else Verdict.RUNNING


class Flag(enum.Enum):
    """The flag of a finished test. Green: it gained. Yellow: it failed although it won more than it
    lost."""

    NONE = "none"
    GREEN = "green"
    YELLOW = "yellow"
