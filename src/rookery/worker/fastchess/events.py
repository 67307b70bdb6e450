"""What fastchess's output tells, line by line."""

from dataclasses import dataclass
from enum import Enum


class Ending(Enum):
    """Why a game ended."""

    CHECKMATE = "checkmate"
    STALEMATE = "stalemate"
    REPETITION = "repetition"
    FIFTY_MOVES = "fifty moves"
    INSUFFICIENT_MATERIAL = "insufficient material"
    ADJUDICATION = "adjudication"
    TIME = "time"
    CRASH = "crash"
    STALL = "stall"
    ILLEGAL_MOVE = "illegal move"
    INTERRUPTED = "interrupted"
    OTHER = "other"

    @property
    def is_fault(self) -> bool:
        """Whether the loser did something that a sound engine on a sound machine does not."""
        return self in (Ending.TIME, Ending.CRASH, Ending.STALL, Ending.ILLEGAL_MOVE)


class Outcome(Enum):
    WHITE_WINS = "1-0"
    BLACK_WINS = "0-1"
    DRAW = "1/2-1/2"
    NONE = "*"


class Trouble(Enum):
    """What a warning is about."""

    TIME = "time"
    CRASH = "crash"
    STALL = "stall"
    ILLEGAL_MOVE = "illegal move"
    BAD_LINE = "bad line"
    """An expected line (PV) that can't be played, goes on after the end, or is not the move's."""
    OPTION = "option"
    """An option that the engine does not have, or a value that it does not take."""
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class GameStarted:
    game: int
    games: int
    white: str
    black: str


@dataclass(frozen=True, slots=True)
class GameFinished:
    game: int
    white: str
    black: str
    outcome: Outcome
    ending: Ending
    reason: str

    @property
    def loser(self) -> str | None:
        return {Outcome.WHITE_WINS: self.black, Outcome.BLACK_WINS: self.white}.get(self.outcome)


@dataclass(frozen=True, slots=True)
class ReportBegun:
    """The score lines that follow are the first engine's against the second."""

    first: str
    second: str


@dataclass(frozen=True, slots=True)
class Score:
    games: int
    wins: int
    losses: int
    draws: int


@dataclass(frozen=True, slots=True)
class Pairs:
    pentanomial: tuple[int, int, int, int, int]


@dataclass(frozen=True, slots=True)
class Warned:
    trouble: Trouble
    text: str


@dataclass(frozen=True, slots=True)
class PlayerNamed:
    """The counts that follow are this engine's."""

    name: str


@dataclass(frozen=True, slots=True)
class TimeoutsCounted:
    count: int


@dataclass(frozen=True, slots=True)
class CrashesCounted:
    count: int


@dataclass(frozen=True, slots=True)
class Failed:
    """fastchess gives up; the games so far may still count. What follows may say more."""

    text: str


@dataclass(frozen=True, slots=True)
class MatchFinished:
    pass


Event = (
    GameStarted
    | GameFinished
    | ReportBegun
    | Score
    | Pairs
    | Warned
    | PlayerNamed
    | TimeoutsCounted
    | CrashesCounted
    | Failed
    | MatchFinished
)
