"""The machine's processors: how many games it can play at once, and in which processes."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rookery.core.command import BadArgument

# How many games this machine can play at once, and the expressions for that number.

PROCESSORS = Path("/sys/devices/system/cpu")
QUOTA = Path("/sys/fs/cgroup/cpu.max")
REFUSAL = "--concurrency can't be {!r}: write 4, MAX, PHYS-1 or MAX/2."
_EXPRESSION = re.compile(r"(MAX|PHYS|\d{1,5})(?:([-/*])(\d{1,4}))?", re.ASCII)


def usable_processors(quota: Path = QUOTA) -> int:
    """Return the number of processors that affinity and the container's quota allow."""
    affinity = getattr(os, "sched_getaffinity", None)
    count = len(affinity(0)) if affinity else os.cpu_count() or 1
    try:
        allowed, period = quota.read_text().split()
    except (OSError, ValueError):
        return count
    return count if allowed == "max" else max(1, min(count, int(allowed) // int(period)))


def physical_cores(folder: Path = PROCESSORS) -> int:
    """Return the number of physical cores; the number of processors if it is unknown."""
    siblings = {path.read_text() for path in folder.glob("cpu[0-9]*/topology/thread_siblings_list")}
    usable = usable_processors()
    return min(len(siblings), usable) or usable


def default_concurrency(threads: int) -> int:
    """All physical cores but one, which is left for the runner and the rest of the system."""
    return max(1, (physical_cores() - 1) // threads)


def read_concurrency(text: str) -> int:
    """Parse a number, or an expression of MAX (processors) and PHYS (cores). Raises
    BadArgument."""
    found = _EXPRESSION.fullmatch(text.strip().upper())
    if not found:
        raise BadArgument(REFUSAL.format(text))
    word, sign, number = found.groups()
    value = {"MAX": usable_processors, "PHYS": physical_cores}.get(word, lambda: int(word))()
    if sign:
        by = int(number)
        value = {"-": value - by, "*": value * by, "/": value // max(by, 1)}[sign]
    if not 1 <= value <= 4096:
        raise BadArgument(REFUSAL.format(text))
    return value


# Distributes the games of a match over runner processes.
#
# A single process for many games would handle all of them late. So each NUMA node has its own,
# which keeps its engines on that node's processors, and none handles more than sixteen games.

MOST_GAMES = 16
NODES = Path("/sys/devices/system/node")


@dataclass(frozen=True, slots=True)
class Shard:
    """One runner process: its number of slots, and the processors of it and its engines."""

    games: int
    processors: frozenset[int]


def plan_shards(concurrency: int, nodes: Sequence[frozenset[int]]) -> tuple[Shard, ...]:
    """Distribute games over nodes in proportion to their processors, and over processes equally."""
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
    """Split a total into whole parts, as close to the weights as possible."""
    parts, given, weighed = [], 0, 0
    for weight in weights:
        weighed += weight
        due = total * weighed // sum(weights)
        parts.append(due - given)
        given = due
    return parts


def local_nodes(folder: Path = NODES) -> tuple[frozenset[int], ...]:
    """Return the processors of each node that this process may use. One node if the topology is
    unknown."""
    allowed = frozenset(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
    lists = [path.read_text() for path in sorted(folder.glob("node[0-9]*/cpulist"))]
    nodes = [frozenset(_numbers(text)) for text in lists]
    if allowed is not None:
        nodes = [node & allowed for node in nodes] or [allowed]
    return tuple(node for node in nodes if node) or (allowed or frozenset(),)


def _numbers(text: str) -> list[int]:
    """Parse a list such as `0-3,8`."""
    found: list[int] = []
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        found.extend(range(int(first), int(last or first) + 1))
    return found
