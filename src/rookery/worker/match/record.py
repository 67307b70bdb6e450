"""What is kept of a game: every move with what its engine thought, how it ended and why."""

import enum
from dataclasses import dataclass

POINTS = {"1-0": 2, "1/2-1/2": 1, "0-1": 0}


class Termination(enum.Enum):
    """The kinds of ends; the values stand in the PGN."""

    NORMAL = "normal"
    ADJUDICATION = "adjudication"
    TIME = "time forfeit"
    CRASH = "abandoned"
    STALL = "stalled connection"
    ILLEGAL = "illegal move"


@dataclass(frozen=True, slots=True)
class Played:
    """A move an engine made: its score, the search behind it and the seconds it took."""

    move: str
    score: str = ""
    depth: int = 0
    nodes: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class GameResult:
    """A game from its opening to its end; `lines` are the last words with an engine that failed."""

    white: str
    black: str
    fen: str
    book_moves: tuple[str, ...]
    moves: tuple[Played, ...]
    result: str
    termination: Termination
    reason: str
    seconds: float = 0.0
    bad_pvs: int = 0
    failed: str = ""
    """The engine that lost by crash, stall, illegal move or on time."""
    lines: tuple[str, ...] = ()
    chess960: bool = False

    @property
    def white_points(self) -> int:
        """Half points."""
        return POINTS[self.result]

    @property
    def plies(self) -> int:
        return len(self.moves)
