"""Spreads the games of a match over runner processes.

One process that referees many games is late for all of them. So each NUMA node has its own, which
keeps its engines on that node's processors, and none referees more than sixteen games.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

MOST_GAMES = 16
NODES = Path("/sys/devices/system/node")


@dataclass(frozen=True, slots=True)
class Shard:
    """One runner process: its games at a time, and the processors it and its engines stay on."""

    games: int
    processors: frozenset[int]


def plan_shards(concurrency: int, nodes: Sequence[frozenset[int]]) -> tuple[Shard, ...]:
    """Games by node in proportion to its processors, and by process in equal parts."""
    wanted = min(concurrency, len(nodes)) or 1
    used = sorted(nodes, key=len, reverse=True)[:wanted] or [frozenset()]
    shares = _shares(concurrency, [max(1, len(node)) for node in used])
    return tuple(
        Shard(games, node)
        for node, share in zip(used, shares, strict=True)
        for games in _shares(share, [1] * -(-share // MOST_GAMES))
        if games
    )


def _shares(total: int, weights: Sequence[int]) -> list[int]:
    """Whole parts of a total, as near to the weights as can be."""
    parts, given, weighed = [], 0, 0
    for weight in weights:
        weighed += weight
        due = total * weighed // sum(weights)
        parts.append(due - given)
        given = due
    return parts


def nodes_here(folder: Path = NODES) -> tuple[frozenset[int], ...]:
    """The processors of each node that this process may use; one node where nothing is known."""
    allowed = frozenset(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
    lists = [path.read_text() for path in sorted(folder.glob("node[0-9]*/cpulist"))]
    nodes = [frozenset(_numbers(text)) for text in lists]
    if allowed is not None:
        nodes = [node & allowed for node in nodes] or [allowed]
    return tuple(node for node in nodes if node) or (allowed or frozenset(),)


def _numbers(text: str) -> list[int]:
    """`0-3,8` as numbers."""
    found: list[int] = []
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        found.extend(range(int(first), int(last or first) + 1))
    return found
