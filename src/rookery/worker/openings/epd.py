"""EPD books: a position per line, with counters as in a FEN or operations as in an EPD."""

import re
from array import array

import chess

from rookery.worker.openings.opening import Opening

# Every line that is not empty counts, as it does for fastchess; else the order would differ.
LINE = re.compile(rb"[^\n]+")
_COUNTERS = re.compile(r"(\d+)\s+(\d+)\b")
_HALF_MOVES = re.compile(r"\bhmvc\s+(\d+)\s*;")
_FULL_MOVE = re.compile(r"\bfmvn\s+(\d+)\s*;")


def starts(text: bytes) -> "array[int]":
    """Where each opening's line begins."""
    return array("Q", (line.start() for line in LINE.finditer(text)))


def opening(line: str, *, chess960: bool) -> Opening:
    """The opening in a line; raises ValueError."""
    fields = line.lstrip("\ufeff").split(maxsplit=4)
    if len(fields) < 4:
        raise ValueError("a position has at least four fields")
    half, full = _counters(fields[4] if len(fields) > 4 else "")
    board = chess.Board(" ".join(fields[:4]) + f" {half} {full}", chess960=chess960)
    if not board.is_valid():
        raise ValueError("the position is impossible")
    return Opening(" ".join([*fields[:4], half, full]))


def _counters(rest: str) -> tuple[str, str]:
    if ";" not in rest:
        counted = _COUNTERS.match(rest)
        return (counted.group(1), counted.group(2)) if counted else ("0", "1")
    half, full = _HALF_MOVES.search(rest), _FULL_MOVE.search(rest)
    return half.group(1) if half else "0", full.group(1) if full else "1"
