"""What fastchess's output tells, line by line."""

import re
from collections.abc import Callable
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


# A line of fastchess's output in, an event out; nothing for a line that tells nothing new.

ENDINGS = (
    (" mates", Ending.CHECKMATE),
    ("stalemate", Ending.STALEMATE),
    ("repetition", Ending.REPETITION),
    ("fifty move", Ending.FIFTY_MOVES),
    ("insufficient", Ending.INSUFFICIENT_MATERIAL),
    ("adjudication", Ending.ADJUDICATION),
    ("on time", Ending.TIME),
    ("disconnects", Ending.CRASH),
    ("stalls", Ending.STALL),
    ("illegal move", Ending.ILLEGAL_MOVE),
    ("interrupted", Ending.INTERRUPTED),
)
TROUBLES = (
    ("illegal pv move", Trouble.BAD_LINE),
    ("pv continues after", Trouble.BAD_LINE),
    ("mating pv", Trouble.BAD_LINE),
    ("beginning of last pv", Trouble.BAD_LINE),
    ("doesn't have option", Trouble.OPTION),
    ("invalid value for option", Trouble.OPTION),
    ("failed to set option", Trouble.OPTION),
    ("on time", Trouble.TIME),
    ("disconnect", Trouble.CRASH),
    ("crash", Trouble.CRASH),
    ("stall", Trouble.STALL),
    ("respon", Trouble.STALL),
    ("illegal move", Trouble.ILLEGAL_MOVE),
    ("uci move format", Trouble.ILLEGAL_MOVE),
)

MOST_LINE = 4096
"""Characters of a line that are looked at: fastchess repeats what engines say."""
_LOG_PREFIX = re.compile(r"\[(?P<level>\w+)\s*\] .*? --- ")


def read(line: str) -> Event | None:
    """The event that a line tells."""
    text = line[:MOST_LINE].rstrip()
    if prefix := _LOG_PREFIX.match(text):
        text = text[prefix.end() :]
    for pattern, event in _READERS:
        if (found := pattern.match(text)) and (told := event(found)):
            return told
    return None


def ending(reason: str) -> Ending:
    """Why a game ended, from the words in its braces."""
    low = reason.lower()
    return next((kind for words, kind in ENDINGS if words in low), Ending.OTHER)


def trouble(text: str) -> Trouble:
    low = text.lower()
    return next((kind for words, kind in TROUBLES if words in low), Trouble.OTHER)


def _started(found: re.Match[str]) -> Event | None:
    first, second = _players(found[3])
    return GameStarted(int(found[1]), int(found[2]), first, second) if second else None


def _finished(found: re.Match[str]) -> Event | None:
    first, second = _players(found[2])
    outcome, reason = Outcome(found[3]), found[4]
    kind = ending(reason) if outcome is not Outcome.NONE else Ending.INTERRUPTED
    return GameFinished(int(found[1]), first, second, outcome, kind, reason) if second else None


def _report(found: re.Match[str]) -> Event | None:
    first, second = _players(found[1])
    return ReportBegun(first, second) if second else None


def _players(text: str) -> tuple[str, str]:
    """The two in `A vs B`; a pattern with two texts of any length would try them all."""
    first, _, second = text.rpartition(" vs ")
    return (first, second) if first else ("", "")


def _score(found: re.Match[str]) -> Event:
    games, wins, losses, draws = map(int, found.groups())
    return Score(games, wins, losses, draws)


def _pairs(found: re.Match[str]) -> Event:
    ll, ld, even, wd, ww = map(int, found.groups())
    return Pairs((ll, ld, even, wd, ww))


def _warned(found: re.Match[str]) -> Event:
    return Warned(trouble(found[1]), found[1])


def _failed(found: re.Match[str]) -> Event:
    return Failed(found[0])


_READERS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Event | None]], ...] = (
    (re.compile(r"Started game (\d+) of (\d+) \((.+)\)$"), _started),
    (
        re.compile(r"Finished game (\d+) \((.+)\): (1-0|0-1|1/2-1/2|\*) \{(.*)\}$"),
        _finished,
    ),
    (re.compile(r"Results of (.+) \([^()]*\):$"), _report),
    (re.compile(r"Games: (\d+), Wins: (\d+), Losses: (\d+), Draws: (\d+)\b"), _score),
    (re.compile(r"Ptnml\(0-2\): \[(\d+), (\d+), (\d+), (\d+), (\d+)\]"), _pairs),
    (re.compile(r"Player: (.+)$"), lambda found: PlayerNamed(found[1])),
    (re.compile(r" +Timeouts: (\d+)$"), lambda found: TimeoutsCounted(int(found[1]))),
    (re.compile(r" +Crashed: (\d+)$"), lambda found: CrashesCounted(int(found[1]))),
    (re.compile(r"Tournament finished|Finished match"), lambda _: MatchFinished()),
    (re.compile(r".*stopping tournament.*|Tournament was interrupted|Reason: .*"), _failed),
    (re.compile(r"Warning[;:] *(.*)"), _warned),
    (re.compile(r"(Engine .+ (?:did not respond|is not responsive|crashed).*)"), _warned),
    (re.compile(r"(?i)(?:fatal|error)\b.*|terminate called.*|.*failed to start engine.*"), _failed),
    (
        re.compile(r"(?:Invalid|Unrecognized|Unsupported) .*|(?:No openings|Engine not) found.*"),
        _failed,
    ),
    (re.compile(r"Engine binary does not exist.*|Failed to (?:set position|open file).*"), _failed),
)
