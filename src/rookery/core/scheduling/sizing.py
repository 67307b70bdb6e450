"""How many games go into a task and into a batch."""

from dataclasses import dataclass

from rookery.core.demands import Demands
from rookery.core.machine import OFFICIAL
from rookery.core.needs import first_missing
from rookery.core.run import Run
from rookery.core.scheduling.pace import Pace
from rookery.core.timecontrol import is_classic

TASK_SECONDS = 1800
WITHIN_REASON = 8.0
"""Games on the clock are not this much shorter or longer than the formula says."""
REFERENCE_BATCH = 16
"""Pairs in a batch at the reference time control."""
BATCH_SECONDS = 60
"""A batch is at the most what a median machine plays in this time, or the reference batch where
official workers play, too."""
BATCH_SHARE = 0.04
"""A batch is no larger part of its test: the ratio would jump far beyond its bounds, and a test
that is soon decided would be decided by the first machine alone."""


def task_games(run: Run, cores: int, game_seconds: float) -> int:
    """The size of a new task: half an hour's work in whole steps, within what is left."""
    return min(_wanted(run, cores, game_seconds), _left(run))


def expected_game_seconds(run: Run, pace: Pace) -> float:
    """Wall-clock time of a game: as measured, within reason where a clock bounds it."""
    guess = run.game_seconds
    seconds = pace.game_seconds(guess)
    if not is_classic(run.plan.tc):
        return seconds
    return min(max(seconds, guess / WITHIN_REASON), guess * WITHIN_REASON)


def _wanted(run: Run, cores: int, game_seconds: float) -> int:
    games = TASK_SECONDS / max(game_seconds, 1e-3) * run.demands.slots(cores)
    step = run.kind.step
    return max(step, step * int(games / step + 0.5))


def _left(run: Run) -> int:
    """What is left, rounded up: a worker asserts that its games are whole steps."""
    step = run.kind.step
    return -(-run.remaining // step) * step


def batch_pairs(length_ratio: float) -> int:
    """Pairs per batch of a sequential test that official workers may play."""
    return max(1, int(0.5 + REFERENCE_BATCH / length_ratio))


def batch_pairs_by_time(slots: int, game_seconds: float) -> int:
    """Pairs that a median eligible machine plays in a minute."""
    return max(1, int(BATCH_SECONDS * slots / (2 * max(game_seconds, 1e-3))))


@dataclass(frozen=True, slots=True)
class BatchFacts:
    """What the batch of a new sequential test depends on."""

    length_ratio: float
    """Of its games to those of the reference time control."""
    slots: int
    """Games at once on a median machine."""
    game_seconds: float
    expected_games: float
    """Of the whole test."""


def batch_for(demands: Demands, facts: BatchFacts) -> int:
    """Pairs per batch of a new sequential test. Our own workers report in parts of it; official
    ones wait for the whole, so that the contract's formula holds only up to a small part of the
    expected length and, for games shorter than the contract has in mind, up to a minute."""
    by_time = batch_pairs_by_time(facts.slots, facts.game_seconds)
    if first_missing(demands.needs, OFFICIAL) is None:
        by_time = max(REFERENCE_BATCH, by_time)
    share = int(BATCH_SHARE * facts.expected_games / 2)
    return max(1, min(batch_pairs(facts.length_ratio), by_time, share))
