"""The words of `go`: what they limit, and how much of the clock a move may take."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

NUMBERS = (
    "wtime",
    "btime",
    "winc",
    "binc",
    "movestogo",
    "depth",
    "nodes",
    "movetime",
    "mate",
)
EXPECTED_MOVES = 40
"""How many moves the rest of a game is taken to last: many, because Python's moves can be late."""

STALL_MS = 250
"""How long a process may have to wait for its turn on a loaded machine: kept in reserve."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Times in milliseconds."""

    wtime: int | None = None
    btime: int | None = None
    winc: int = 0
    binc: int = 0
    movestogo: int | None = None
    depth: int | None = None
    nodes: int | None = None
    movetime: int | None = None
    mate: int | None = None
    infinite: bool = False
    ponder: bool = False
    searchmoves: tuple[str, ...] = ()

    @property
    def is_open(self) -> bool:
        """Whether the answer has to wait for a `stop` or a `ponderhit`."""
        return self.infinite or self.ponder


@dataclass(frozen=True, slots=True)
class Allowance:
    """How long a move may take: no new iteration after `soft`, the end at `hard` (seconds)."""

    soft: float
    hard: float


def parse_go(words: Sequence[str]) -> Limits:
    """Read the words after `go`; what is unknown or no number is passed over."""
    given: dict[str, Any] = {}
    for word, value in pairwise(words):
        if word in NUMBERS and value.lstrip("-").isdigit():
            given[word] = int(value)
    limits = Limits(
        infinite="infinite" in words, ponder="ponder" in words, searchmoves=_searchmoves(words)
    )
    return replace(limits, **given)


def allowance(limits: Limits, *, white: bool, overhead_ms: int) -> Allowance | None:
    """The time for one move; None without a clock."""
    if limits.movetime is not None:
        seconds = max(1, limits.movetime - min(overhead_ms, limits.movetime // 4)) / 1000
        return Allowance(seconds, seconds)
    time, increment = (limits.wtime, limits.winc) if white else (limits.btime, limits.binc)
    if time is None:
        return None
    usable = _usable(time - overhead_ms)
    moves = min(limits.movestogo or EXPECTED_MOVES, EXPECTED_MOVES)
    aim = usable / moves + increment / 2
    # The last move before a time control may take most of what there is, others a quarter at most.
    hard = min(2.5 * aim, usable * (0.8 if moves == 1 else 0.25))
    # An iteration takes longer than all before it: after half the time it is too late for another.
    return Allowance(min(aim / 2, hard) / 1000, hard / 1000)


def _usable(left: int) -> float:
    """What may be planned with: a loaded machine takes some away at once and without a warning."""
    return max(left - STALL_MS, left / 4, 1)


def _searchmoves(words: Sequence[str]) -> tuple[str, ...]:
    if "searchmoves" not in words:
        return ()
    rest = words[words.index("searchmoves") + 1 :]
    stop = next((i for i, word in enumerate(rest) if not _is_move(word)), len(rest))
    return tuple(rest[:stop])


def _is_move(word: str) -> bool:
    return 4 <= len(word) <= 5 and word[1].isdigit() and word[3].isdigit()
