"""How many games go into a task and into a batch."""

from dataclasses import dataclass
from math import ceil

from rookery.core.demands import Demands
from rookery.core.engine import time_factor
from rookery.core.machine import OFFICIAL
from rookery.core.needs import first_missing
from rookery.core.run import Run
from rookery.core.scheduling.pace import Pace
from rookery.core.task import Task
from rookery.core.timecontrol import Depth, Nodes, is_classic

TASK_SECONDS = 1800
MOST_TASK_GAMES = 50_000
"""However short its games are, a task holds no more of them."""
SHARED_PART = 0.25
"""Where other machines are about, a task takes no larger part of what is left, unless that part
would be played in no time."""
LEAST_TASK_SECONDS = 300
PATIENCE = 4
"""Results that stay away for so many times the expected time are waited for no longer."""
ROUNDS = 4
"""Official workers play so many games on each board between two reports."""
LEAST_PATIENCE_SECONDS = 900
BUILD_SECONDS = 2700
"""Before its first games a worker builds the engines."""
UNMEASURED_SECONDS = 6 * 3600
"""Nobody can tell how long games at fixed nodes or depth take before some were measured."""
SLOWEST = 16.0
"""Machines are not so many times as slow as the reference."""
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


def task_games(run: Run, cores: int, game_seconds: float, *, shared: bool = False) -> int:
    """The size of a new task: half an hour's work in whole steps, within what is left, and a part
    of that where others may want some of it."""
    wanted = min(_wanted(run, cores, game_seconds), _whole(run, MOST_TASK_GAMES))
    if shared:
        least = _wanted(run, cores, game_seconds, LEAST_TASK_SECONDS)
        wanted = min(wanted, max(least, _whole(run, SHARED_PART * run.remaining)))
    return min(wanted, _whole(run, run.remaining))


def patience_seconds(run: Run, task: Task, pace: Pace) -> float:
    """How long to wait for the next results of a task whose machine gives signs of life."""
    machine = task.machine
    factor = time_factor(run.reference_nps, machine.nps) if run.plan.rules.scaled else 1.0
    each = expected_game_seconds(run, pace) * min(max(factor, 1.0), SLOWEST)
    rounds = max(ROUNDS, ceil(run.kind.step / max(1, run.demands.slots(machine.cores))))
    unknown = isinstance(run.plan.tc, Nodes | Depth) and not pace.game_seconds(0.0)
    least = UNMEASURED_SECONDS if unknown else LEAST_PATIENCE_SECONDS
    building = 0 if task.results.games else BUILD_SECONDS
    return building + max(least, PATIENCE * rounds * each)


def expected_game_seconds(run: Run, pace: Pace) -> float:
    """Wall-clock time of a game: as measured, within reason where a clock bounds it."""
    guess = run.game_seconds
    seconds = pace.game_seconds(guess)
    if not is_classic(run.plan.tc):
        return seconds
    return min(max(seconds, guess / WITHIN_REASON), guess * WITHIN_REASON)


def _wanted(run: Run, cores: int, game_seconds: float, seconds: float = TASK_SECONDS) -> int:
    games = seconds / max(game_seconds, 1e-3) * run.demands.slots(cores)
    step = run.kind.step
    return max(step, step * int(games / step + 0.5))


def _whole(run: Run, games: float) -> int:
    """Rounded up: a worker asserts that its games are whole steps."""
    return ceil(games / run.kind.step) * run.kind.step


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
