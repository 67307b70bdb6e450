"""Reads the one line of search information that counts: the last with a score."""

from dataclasses import dataclass
from itertools import pairwise

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
class Info:
    """What an engine said about its search."""

    score: Score | None = None
    depth: int = 0
    seldepth: int = 0
    nodes: int = 0
    nps: int = 0
    pv: tuple[str, ...] = ()


NOTHING_SAID = Info()


def read_info(line: bytes) -> Info:
    """The line as a value; words that make no sense are passed over."""
    head, _, variation = line.partition(b" pv ")
    words = head.split()
    if b"string" in words:
        del words[words.index(b"string") :]
        variation = b""
    said = dict(pairwise(words))
    return Info(
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
