"""Seeded chance: node noise and blunders, drawn from a seed and the position and nothing else.

The same position with the same seed gives the same draw in every process, so that a game can be
replayed wherever and in whatever order it was played.
"""

from rookery.engine.transposition import Key

MASK = 2**64 - 1


def draw(seed: int, purpose: int, key: Key, move_number: int) -> int:
    """A 64-bit number that looks like chance."""
    state = seed
    for word in (purpose, move_number, *key):
        state = _mixed(state ^ (int(word) & MASK))
    return state


def noisy(nodes: int, percent: int, chance: int) -> int:
    """A node limit changed by up to so many percent either way."""
    swing = chance % 2001 - 1000
    return max(1, nodes + nodes * percent * swing // 100_000)


def _mixed(value: int) -> int:
    """One step of a splittable generator: adds an odd constant and stirs."""
    value = (value + 0x9E3779B97F4A7C15) & MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & MASK
    return value ^ (value >> 31)
