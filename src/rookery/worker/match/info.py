"""Reads the one line of search information that counts: the last with a score."""

from dataclasses import dataclass

_NUMBERS = frozenset({b"depth", b"seldepth", b"nodes", b"nps"})
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
    words = line.split()
    numbers = dict.fromkeys(_NUMBERS, 0)
    score: Score | None = None
    pv: tuple[str, ...] = ()
    for place, word in enumerate(words):
        if word in _NUMBERS:
            numbers[word] = _whole(words, place + 1) or 0
        elif word == b"score":
            score = _score(words, place + 1)
        elif word == b"pv":
            pv = tuple(move.decode("ascii", "replace") for move in words[place + 1 :])
            break
        elif word == b"string":
            break
    return Info(
        score, numbers[b"depth"], numbers[b"seldepth"], numbers[b"nodes"], numbers[b"nps"], pv
    )


def _score(words: list[bytes], place: int) -> Score | None:
    kind = words[place] if place < len(words) else b""
    value = _whole(words, place + 1)
    if value is None or kind not in (b"cp", b"mate"):
        return None
    return Score(value, mate=kind == b"mate")


def _whole(words: list[bytes], place: int) -> int | None:
    try:
        value = int(words[place])
    except (IndexError, ValueError):
        return None
    return value if abs(value) < _LARGEST else None
