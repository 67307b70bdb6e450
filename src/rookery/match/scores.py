"""Reads the one line of search information that counts: the last with a score."""

from dataclasses import dataclass
from itertools import pairwise

from rookery.model.plan import Draw, Resign

_LARGEST = 10**18


@dataclass(frozen=True, slots=True)
class Score:
    """Centipawns, or full moves to mate, seen from the side that moves."""

    value: int
    mate: bool = False

    def __str__(self) -> str:
        if not self.mate:
            return f"{self.value / 100:+.2f}"
        plies = 2 * self.value - 1 if self.value > 0 else -2 * self.value
        return f"{'+' if self.value > 0 else '-'}M{plies}"


@dataclass(frozen=True, slots=True)
class SearchInfo:
    """What an engine said about its search."""

    score: Score | None = None
    depth: int = 0
    seldepth: int = 0
    nodes: int = 0
    nps: int = 0
    pv: tuple[str, ...] = ()


NOTHING_SAID = SearchInfo()


def read_info(line: bytes) -> SearchInfo:
    """The line as a value; words that make no sense are passed over."""
    head, _, variation = line.partition(b" pv ")
    words = head.split()
    if b"string" in words:
        del words[words.index(b"string") :]
        variation = b""
    said = dict(pairwise(words))
    return SearchInfo(
        _score(said),
        _number(said, b"depth") or 0,
        _number(said, b"seldepth") or 0,
        _number(said, b"nodes") or 0,
        _number(said, b"nps") or 0,
        tuple(variation.decode("ascii", "replace").split()),
    )


def _score(said: dict[bytes, bytes]) -> Score | None:
    kind = said.get(b"score")
    if kind not in (b"cp", b"mate"):
        return None
    value = _number(said, kind)
    return None if value is None else Score(value, mate=kind == b"mate")


def _number(said: dict[bytes, bytes], name: bytes) -> int | None:
    """The word after a name, if it is a number of a sensible size."""
    try:
        value = int(said[name])
    except (KeyError, ValueError):
        return None
    return value if abs(value) < _LARGEST else None


# Ends games whose outcome is clear, by the scores the engines give, exactly as fastchess does.
#
# Resign: the side that just moved has given its own position at most minus `score` centipawns, or
# a mate against itself, `moves` times in a row. Two-sided: the last 2 * `moves` scores of both
# sides were that far from zero, and the side that just moved is the one that is losing.
#
# Draw: the last 2 * `moves` scores of both sides were within `score` of zero, since the last
# capture or pawn move, and `from_move` full moves were completed, counted from the opening's own
# number.
#
# A move without a score begins the count anew.

OFFICIAL_RESIGN = Resign(score=600, moves=3)
OFFICIAL_DRAW = Draw(from_move=34, moves=8, score=20)


@dataclass(frozen=True, slots=True)
class Adjudication:
    """The rules in force; None and 0 are off."""

    resign: Resign | None = None
    draw: Draw | None = None
    syzygy_men: int = 0
    most_moves: int = 0
    """A game of so many full moves is drawn."""


OFFICIAL = Adjudication(OFFICIAL_RESIGN, OFFICIAL_DRAW)
"""What the official worker plays by."""


class ResignCount:
    """Counts scores towards a resignation; one a game."""

    __slots__ = ("_counts", "_rule")

    def __init__(self, rule: Resign) -> None:
        self._rule = rule
        self._counts = [0, 0]

    def after(self, score: Score | None, *, white: bool) -> bool:
        """Whether the side that moved with this score is to resign."""
        place = 0 if self._rule.two_sided else int(white)
        self._counts[place] = self._counts[place] + 1 if self._counted(score) else 0
        needed = self._rule.moves * (2 if self._rule.two_sided else 1)
        return score is not None and score.value < 0 and self._counts[place] >= needed

    def _counted(self, score: Score | None) -> bool:
        if score is None:
            return False
        if self._rule.two_sided:
            return score.mate or abs(score.value) >= self._rule.score
        return score.value < 0 if score.mate else score.value <= -self._rule.score


class DrawCount:
    """Counts scores towards a draw; one a game."""

    __slots__ = ("_count", "_rule")

    def __init__(self, rule: Draw) -> None:
        self._rule = rule
        self._count = 0

    def after(self, score: Score | None, *, halfmove_clock: int, completed_moves: int) -> bool:
        """Whether the game is drawn after a move with this score."""
        if halfmove_clock == 0:
            self._count = 0
        quiet = score is not None and not score.mate and abs(score.value) <= self._rule.score
        self._count = self._count + 1 if quiet else 0
        return self._count >= 2 * self._rule.moves and completed_moves >= self._rule.from_move
