"""Tests whether the results of all workers are consistent, by a chi-square test, and finds
outliers.

A worker is a row of three counts: pairs won, lost and drawn. Its residual is the distance of its
row from the expectation from all rows together, in sigmas.
"""

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log

from rookery.core.stats.numbers import (
    BINS_WANTED,
    StatisticsFault,
    sum_in_order,
    upper_quantile,
    upper_tail,
)

# A row with a smaller expectation in any cell is too small for a chi-square test.
SMALLEST_EXPECTATION = 5.0
COLUMNS = 3

# The accepted probability that chance alone makes one of all workers look unusual.
UNUSUAL = 0.05
HARDLY_CHANCE = 0.01

# The residual that is given to tasks with too many crashes or time losses.
EXCESS_RESIDUAL = 10.0

Row = tuple[int, int, int]


class Colour(enum.Enum):
    """How far a worker's results are from the expectation."""

    GREEN = "green"
    YELLOW = "yellow"
    RED = "red"


@dataclass(frozen=True, slots=True)
class WorkerTest:
    """The outcome of the test; `residuals` contains only workers with enough results."""

    chi_square: float
    degrees: int
    p_value: float
    residuals: Mapping[str, float]
    yellow_from: float
    red_from: float

    def colour(self, residual: float) -> Colour:
        if residual < self.yellow_from:
            return Colour.GREEN
        return Colour.YELLOW if residual < self.red_from else Colour.RED


@dataclass(frozen=True, slots=True)
class PurgeRule:
    """How certain it must be before a worker's results are removed."""

    p_value: float
    residual: float


AUTOMATIC = PurgeRule(p_value=0.001, residual=7.0)
MANUAL = PurgeRule(p_value=0.01, residual=4.5)


def judge_workers(workers: Mapping[str, Sequence[int]]) -> WorkerTest | None:
    """Test pentanomial results by worker; None when fewer than two have enough of them."""
    rows = _with_enough({name: _row(bins) for name, bins in workers.items()})
    if len(rows) < 2:
        return None
    columns = _column_sums(rows)
    total = sum(columns)
    squares = {name: _square(row, columns, total) for name, row in rows.items()}
    chi_square, degrees = sum_in_order(squares.values()), (len(rows) - 1) * (COLUMNS - 1)
    return WorkerTest(
        chi_square=chi_square,
        degrees=degrees,
        p_value=upper_tail(chi_square, degrees),
        residuals={name: _residual(squares[name], sum(rows[name]) / total) for name in rows},
        # Among many workers one may look unusual by chance: the limit grows with their number.
        yellow_from=upper_quantile(log(UNUSUAL / len(rows))),
        red_from=upper_quantile(log(HARDLY_CHANCE / len(rows))),
    )


def bad_worker(test: WorkerTest | None, rule: PurgeRule) -> str | None:
    """Return the worker to remove, if any: the one with the largest residual among the suspicious
    ones."""
    if test is None:
        return None
    worst = max(test.residuals, key=lambda name: test.residuals[name])
    if test.p_value < rule.p_value or test.residuals[worst] > rule.residual:
        return worst
    return None


def excessive(*, games: int, crashes: int, time_losses: int) -> bool:
    """Whether a task crashed or lost on time so often that its results are void."""
    return crashes > 3 or (games > 20 and time_losses / games > 0.1)


def _row(bins: Sequence[int]) -> Row:
    if len(bins) != 5 or min(bins) < 0:
        raise StatisticsFault(BINS_WANTED)
    ll, ld, even, wd, ww = bins
    return wd + ww, ll + ld, even


def _with_enough(rows: Mapping[str, Row]) -> Mapping[str, Row]:
    """Drop rows with too small expectations, repeatedly, since each drop changes the others."""
    while True:
        columns = _column_sums(rows)
        # The rarest outcome decides, so a row's size alone tells whether it is large enough.
        scarcest, total = min(columns), sum(columns)
        kept = {
            name: row
            for name, row in rows.items()
            if sum(row) * scarcest > SMALLEST_EXPECTATION * total
        }
        if len(kept) == len(rows):
            return kept
        rows = kept


def _column_sums(rows: Mapping[str, Row]) -> Row:
    won = lost = even = 0
    for row in rows.values():
        won, lost, even = won + row[0], lost + row[1], even + row[2]
    return won, lost, even


def _square(row: Row, columns: Row, total: int) -> float:
    share = sum(row) / total
    return sum_in_order(
        (count - share * column) ** 2 / (share * column)
        for count, column in zip(row, columns, strict=True)
    )


def _residual(square: float, share: float) -> float:
    """Return the row's chi-square, corrected for the worker's own part in the average, as a normal
    deviate."""
    # With two degrees of freedom the chance to exceed x is exp(-x / 2).
    return max(0.0, upper_quantile(-square / (1.0 - share) / 2.0))
