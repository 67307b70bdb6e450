"""Do all workers see the same engines? A chi-square test over workers, and who stands out.

A worker is a row of three counts: pairs won, lost and even. Its residual is how far its row lies
from what all rows together let expect, in sigmas.
"""

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log

from rookery.stats.numbers import BINS_WANTED, StatisticsFault, upper_quantile, upper_tail

# A row that expects fewer in any cell says too little for a chi-square.
SMALLEST_EXPECTATION = 5.0
COLUMNS = 3

# How likely it may be that chance alone makes one of all workers stand out so far.
UNUSUAL = 0.05
HARDLY_CHANCE = 0.01

# What tasks with excessive crashes or time losses show.
EXCESS_RESIDUAL = 10.0

Row = tuple[int, int, int]


class Colour(enum.Enum):
    """How far a worker's results lie from what all results let expect."""

    GREEN = "green"
    YELLOW = "yellow"
    RED = "red"


@dataclass(frozen=True, slots=True)
class WorkerTest:
    """The test's outcome; `residuals` holds only the workers with enough results to judge."""

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
    """How sure one must be before a worker's results are taken out."""

    p_value: float
    residual: float


AUTOMATIC = PurgeRule(p_value=0.001, residual=7.0)
MANUAL = PurgeRule(p_value=0.01, residual=4.5)


def judge_workers(workers: Mapping[str, Sequence[int]]) -> WorkerTest | None:
    """Tests pentanomial results by worker; None when fewer than two have enough of them."""
    rows = _with_enough({name: _row(bins) for name, bins in workers.items()})
    if len(rows) < 2:
        return None
    columns = _column_sums(rows)
    total = sum(columns)
    squares = {name: _square(row, columns, total) for name, row in rows.items()}
    chi_square, degrees = sum(squares.values()), (len(rows) - 1) * (COLUMNS - 1)
    return WorkerTest(
        chi_square=chi_square,
        degrees=degrees,
        p_value=upper_tail(chi_square, degrees),
        residuals={name: _residual(squares[name], sum(rows[name]) / total) for name in rows},
        # One worker in so many may stand out by chance: the bar rises with their number.
        yellow_from=upper_quantile(log(UNUSUAL / len(rows))),
        red_from=upper_quantile(log(HARDLY_CHANCE / len(rows))),
    )


def bad_worker(test: WorkerTest | None, rule: PurgeRule) -> str | None:
    """The one worker to take out, if any: the largest residual among those under suspicion."""
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
    """Drops rows that expect too little, again and again, since each drop changes the rest."""
    while True:
        columns = _column_sums(rows)
        # The scarcest outcome decides, so a row's size alone says whether it has enough.
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
    return sum(
        (count - share * column) ** 2 / (share * column)
        for count, column in zip(row, columns, strict=True)
    )


def _residual(square: float, share: float) -> float:
    """The row's square, freed of the worker's own part in the average, as a normal deviate."""
    # With two degrees of freedom the chance to exceed x is exp(-x / 2).
    return max(0.0, upper_quantile(-square / (1.0 - share) / 2.0))
