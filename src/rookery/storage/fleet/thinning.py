"""Keeps a run's charts to a few hundred points, evenly spaced however long it plays.

The points of a run lie a period of games apart, and the period doubles as often as it must for at
most 256 of them. Within a period the last point stays. Place and period follow from the number of
games alone, so that nothing has to be remembered over a restart.
"""

from rookery.service.fleet.ports import Sample

MOST_PLACES = 256
FIRST_PERIOD = 8


def period(games: int) -> int:
    """How many games lie between two points once so many have been played."""
    found = FIRST_PERIOD
    while games >= MOST_PLACES * found:
        found *= 2
    return found


def place(sample: Sample) -> int:
    """Where a point belongs; a later one for the same place takes it."""
    return sample.games - sample.games % period(sample.games)
