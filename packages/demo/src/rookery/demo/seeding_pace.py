"""Chooses how fast invented runs are played, so that the cores, games per minute and times on a
page agree."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random

from rookery.core.model.machine import Machine
from rookery.core.model.run import Run, machines_pace

SHORT_GAME_SECONDS = 20.0
MOST_GAMES = 45_000
"""The most games of a run that still plays; with more it would usually have a verdict."""


@dataclass(frozen=True, slots=True)
class PlayedPace:
    """The pace of a run whose tasks are played one after the other, each of `pairs` pairs on all
    `cores`, taking the time `each`."""

    cores: int
    pairs: int
    each: timedelta


def draw_pace(
    chance: Random, run: Run, tasks: int, now: datetime, machines: Sequence[Machine] = ()
) -> PlayedPace:
    """Return the pace of a run that `machines` play now, or, without any, of one that was played
    earlier."""
    room = (now - run.created) / (tasks + 2)
    if machines:
        return _draw_present_pace(chance, run, tasks, room, machines)
    # So many that most tests come to a verdict, even those with small differences.
    pairs = chance.randint(400, 2_000)
    # Tasks of longer games take longer and have more cores.
    minutes = chance.uniform(2.5, 25) * max(1.0, run.game_seconds / SHORT_GAME_SECONDS) ** 0.5
    each = min(timedelta(minutes=minutes), room)
    slots = 2 * pairs * run.game_seconds / each.total_seconds()
    return PlayedPace(max(1, round(slots)) * run.plan.threads, pairs, each)


def _draw_present_pace(
    chance: Random, run: Run, tasks: int, room: timedelta, machines: Sequence[Machine]
) -> PlayedPace:
    """Return the pace of a run that has played for some hours, or until it has many games."""
    a_minute = machines_pace(run, machines)
    games = min(a_minute * chance.uniform(90, 480), chance.uniform(6_000, MOST_GAMES))
    each = min(timedelta(minutes=games / tasks / a_minute), room)
    pairs = max(4, round(a_minute * each.total_seconds() / 120))
    each = timedelta(minutes=2 * pairs / a_minute)
    return PlayedPace(sum(one.cores for one in machines), pairs, each)
