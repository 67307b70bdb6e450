"""How many games go into a task and into a batch."""

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
"""Where official workers don't play, a batch is what a median machine plays in this time."""


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


def batch_for(demands: Demands, length_ratio: float, slots: int, game_seconds: float) -> int:
    """Pairs per batch of a new sequential test. Where only our workers play, nobody waits for
    more than a minute of a median machine."""
    classic = batch_pairs(length_ratio)
    if first_missing(demands.needs, OFFICIAL) is None:
        return classic
    return min(classic, batch_pairs_by_time(slots, game_seconds))
