"""Parses the output of an engine: its lines, the last one with a score, and that line's content."""

from dataclasses import dataclass
from itertools import pairwise

# Splits an engine's output into lines of bytes, with a limit on memory.
#
# Engines write twenty to forty lines of search information per move, and only one of them matters.
# So lines stay bytes, the last one with a score is remembered (an exact score rather than a bound),
# and nothing is parsed here.

MOST_LINE_BYTES = 65_536
"""Longer lines are dropped: no move and no score is as long."""


class LineSplitter:
    """Splits a stream of bytes into complete lines. It is fed by one reader."""

    __slots__ = ("_partial", "_skipping")

    def __init__(self) -> None:
        self._partial = b""
        self._skipping = False

    def feed(self, data: bytes) -> list[bytes]:
        """Add bytes. Returns the lines that they complete, without line ends."""
        head, newline, rest = data.partition(b"\n")
        if not newline:
            self._keep(head)
            return []
        complete = rest.split(b"\n")
        last = complete.pop()
        if not self._skipping:
            complete.insert(0, self._partial + head)
        self._partial, self._skipping = b"", False
        self._keep(last)
        return complete

    def _keep(self, data: bytes) -> None:
        """Keep the beginning of an incomplete line. One that is too long is dropped."""
        if not self._skipping:
            self._partial += data
            if len(self._partial) > MOST_LINE_BYTES:
                self._partial, self._skipping = b"", True


class LastScore:
    """Remembers the line with the result of a search: the last exact score, or the last bound."""

    __slots__ = ("_bound", "_exact")

    def __init__(self) -> None:
        self._bound = self._exact = b""

    @property
    def line(self) -> bytes:
        return self._exact or self._bound

    def feed(self, lines: list[bytes]) -> None:
        """Add the lines of one read. Lines before the last exact score do not count."""
        bound = b""
        for line in reversed(lines):
            if not has_score(line):
                continue
            if not is_bound(line):
                self._exact = line
                return
            bound = bound or line
        self._bound = bound or self._bound


def is_bound(line: bytes) -> bool:
    """Whether the score is a lower or upper bound."""
    return b"bound" in line and (b" lowerbound" in line or b" upperbound" in line)


def has_score(line: bytes) -> bool:
    """Whether the line has a score of the main variation."""
    return (
        line.startswith(b"info ")
        and b" score " in line
        and not line.startswith(b"info string")
        and (b" multipv " not in line or b" multipv 1 " in line)
    )


# Parses the one line of search information that counts: the last with a score.

_LARGEST = 10**18


@dataclass(frozen=True, slots=True)
class Score:
    """A score in centipawns, or in full moves to mate, from the point of view of the side to
    move."""

    value: int
    mate: bool = False

    def __str__(self) -> str:
        if not self.mate:
            return f"{self.value / 100:+.2f}"
        plies = 2 * self.value - 1 if self.value > 0 else -2 * self.value
        return f"{'+' if self.value > 0 else '-'}M{plies}"


@dataclass(frozen=True, slots=True)
class SearchInfo:
    """What an engine reported about its search."""

    score: Score | None = None
    depth: int = 0
    nodes: int = 0
    nps: int = 0
    pv: tuple[str, ...] = ()


NOTHING_SAID = SearchInfo()


def read_info(line: bytes) -> SearchInfo:
    """Parse the line. Words that can't be parsed are ignored."""
    head, _, variation = line.partition(b" pv ")
    words = head.split()
    if b"string" in words:
        del words[words.index(b"string") :]
        variation = b""
    said = dict(pairwise(words))
    return SearchInfo(
        _score(said),
        _number(said, b"depth") or 0,
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
    """Return the word after a name, if it is a number within limits."""
    try:
        value = int(said[name])
    except (KeyError, ValueError):
        return None
    return value if abs(value) < _LARGEST else None
