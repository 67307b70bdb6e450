"""How fast invented runs were played: as fast as that many cores get games done, so that cores,
games a minute and times of a page agree."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random

from rookery.model.machine import Machine
from rookery.model.run import Run, machines_pace

SHORT_GAME_SECONDS = 20.0
MOST_GAMES = 45_000
"""What a run may have that still plays: with more it would have come to a verdict, mostly."""


@dataclass(frozen=True, slots=True)
class PlayedPace:
    """How a run was played: one task after the other, of so many pairs, by all of these cores."""

    cores: int
    pairs: int
    each: timedelta


def draw_pace(
    chance: Random, run: Run, tasks: int, now: datetime, machines: Sequence[Machine] = ()
) -> PlayedPace:
    """That of a run that these machines play now, or of one that others played before."""
    room = (now - run.created) / (tasks + 2)
    if machines:
        return _draw_present_pace(chance, run, tasks, room, machines)
    pairs = chance.randint(150, 700)
    # Longer games take longer, and have more cores.
    minutes = chance.uniform(1, 9) * max(1.0, run.game_seconds / SHORT_GAME_SECONDS) ** 0.5
    each = min(timedelta(minutes=minutes), room)
    slots = 2 * pairs * run.game_seconds / each.total_seconds()
    return PlayedPace(max(1, round(slots)) * run.plan.threads, pairs, each)


def _draw_present_pace(
    chance: Random, run: Run, tasks: int, room: timedelta, machines: Sequence[Machine]
) -> PlayedPace:
    """For some hours, or until it has many games."""
    a_minute = machines_pace(run, machines)
    games = min(a_minute * chance.uniform(90, 480), chance.uniform(6_000, MOST_GAMES))
    each = min(timedelta(minutes=games / tasks / a_minute), room)
    pairs = max(4, round(a_minute * each.total_seconds() / 120))
    each = timedelta(minutes=2 * pairs / a_minute)
    return PlayedPace(sum(one.cores for one in machines), pairs, each)
