"""The parts of a match: pairs of games to play, the rules for them, and their results."""

import enum
import sys
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, count
from pathlib import Path
from typing import Protocol, Self

import msgspec

from rookery.core.errors import Complaint
from rookery.core.model.plan import Draw, Resign
from rookery.core.model.task import Pentanomial, Results
from rookery.core.model.timecontrol import TimeControl, parse
from rookery.match.clock import Latency
from rookery.match.opening_order import OpeningOrder
from rookery.match.openings import STANDARD, BookFault, Opening, OpeningBook

# The record of a game: every move with the engine's search, how the game ended and why.

POINTS = {"1-0": 2, "1/2-1/2": 1, "0-1": 0}


class Termination(enum.Enum):
    """How games end. The values are written into PGN."""

    NORMAL = "normal"
    ADJUDICATION = "adjudication"
    TIME = "time forfeit"
    CRASH = "abandoned"
    STALL = "stalled connection"
    ILLEGAL = "illegal move"


@dataclass(frozen=True, slots=True)
class PlayedMove:
    """A move by an engine: its score, the search behind it and the seconds it took."""

    move: str
    score: str = ""
    depth: int = 0
    nodes: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class GameResult:
    """A game from its opening to its end. `lines` are the last lines exchanged with an engine that
    failed."""

    white: str
    black: str
    fen: str
    book_moves: tuple[str, ...]
    moves: tuple[PlayedMove, ...]
    result: str
    termination: Termination
    reason: str
    seconds: float = 0.0
    bad_pvs: int = 0
    failed: str = ""
    """The engine that lost by a crash, a stall, an illegal move or on time."""
    lines: tuple[str, ...] = ()
    chess960: bool = False

    @property
    def white_points(self) -> int:
        """White's points, in half points."""
        return POINTS[self.result]

    @property
    def plies(self) -> int:
        return len(self.moves)


# An engine as a player, and its time limits.


OUR_COMMAND = (sys.executable, "-m", "rookery.match.fledgling")
"""The command that starts the bundled engine."""


@dataclass(frozen=True, slots=True)
class EngineSpec:
    """An engine as a player: its program, its options and its time control as text."""

    name: str
    command: tuple[str, ...]
    options: tuple[tuple[str, str], ...]
    tc: str
    threads: int = 1
    folder: str | None = None
    environment: tuple[tuple[str, str], ...] | None = None
    """The engine's environment variables; None stands for those of this process."""

    @property
    def time_control(self) -> TimeControl:
        return parse(self.tc)

    def runs_like(self, other: "EngineSpec") -> bool:
        """Whether one process can play as both, after setting other options."""
        return (
            self.command == other.command
            and self.folder == other.folder
            and self.environment == other.environment
            and {name for name, _ in self.options} >= {name for name, _ in other.options}
        )


@dataclass(frozen=True, slots=True)
class EngineTimeouts:
    """How long engines may take, in seconds, for actions that no clock limits."""

    start: float = 60.0
    ready: float = 60.0
    """Emptying a large hash table takes long."""
    quit: float = 1.0


OFFICIAL_RESIGN = Resign(score=600, moves=3)
OFFICIAL_DRAW = Draw(from_move=34, moves=8, score=20)


@dataclass(frozen=True, slots=True)
class Adjudication:
    """The rules of adjudication. None and 0 switch a rule off."""

    resign: Resign | None = None
    draw: Draw | None = None
    syzygy_men: int = 0
    most_moves: int = 0
    """A game with this many full moves is a draw."""


OFFICIAL = Adjudication(OFFICIAL_RESIGN, OFFICIAL_DRAW)
"""The rules of the official worker."""


CRASHES = frozenset({Termination.CRASH, Termination.STALL})


@dataclass(frozen=True, slots=True)
class Setup:
    """The settings for all games of a match."""

    adjudication: Adjudication = field(default_factory=Adjudication)
    chess960: bool = False
    margin_ms: int = 20
    timeouts: EngineTimeouts = field(default_factory=EngineTimeouts)
    syzygy: tuple[str, ...] = ()
    """Folders with tablebases. They are used only if the adjudication has a number of men."""
    strict_pvs: bool = False
    """Whether a principal variation with an illegal move loses the game, instead of only being
    counted."""


class PairJob(msgspec.Struct, frozen=True, tag=True):
    """Two games from one opening. `first` has White in the first game."""

    number: int
    opening: Opening
    first: EngineSpec
    second: EngineSpec


@dataclass(frozen=True, slots=True)
class PairResult:
    """The results of a job's two games, in the order in which they were played."""

    number: int
    first: str
    second: str
    games: tuple[GameResult, GameResult]
    slot: int = 0
    """The slot in which it was played, among all slots of the match."""

    @property
    def points(self) -> tuple[int, int]:
        """The points of `first` in each game, in half points."""
        return self.games[0].white_points, 2 - self.games[1].white_points

    @property
    def results(self) -> Results:
        """The pair as counts, from the first engine's point of view."""
        return pair_results(
            self.points,
            crashes=sum(game.termination in CRASHES for game in self.games),
            time_losses=sum(game.termination is Termination.TIME for game in self.games),
        )


def pair_results(points: tuple[int, int], *, crashes: int = 0, time_losses: int = 0) -> Results:
    """Return a pair's counts from the half points of its first engine in each game."""
    bins = [0, 0, 0, 0, 0]
    bins[sum(points)] = 1
    pentanomial: Pentanomial = (bins[0], bins[1], bins[2], bins[3], bins[4])
    return Results(
        points.count(2), points.count(0), points.count(1), crashes, time_losses, pentanomial
    )


# Events of a match, in the order in which they happen. They are tagged, because a runner process
# writes them as JSON.


class GameStarted(msgspec.Struct, frozen=True, tag=True):
    """Game 0 or 1 of a pair begins."""

    pair: int
    game: int
    white: str
    black: str


class GameEnded(msgspec.Struct, frozen=True, tag=True):
    """Game 0 or 1 of a pair has ended."""

    pair: int
    game: int
    result: GameResult


class PairEnded(msgspec.Struct, frozen=True, tag=True):
    """Both games of a pair have ended."""

    pair: PairResult


class LatencyMeasured(msgspec.Struct, frozen=True, tag=True):
    """The latency of the runner so far, of all its processes together."""

    latency: Latency
    last: bool = False
    """Whether this is the last event."""


Event = GameStarted | GameEnded | PairEnded | LatencyMeasured


class EngineFault(Exception):
    """The engine failed the runner; the game in progress is lost for it."""


class EngineGone(EngineFault):
    """it ended or closed its pipes"""


class EngineSilent(EngineFault):
    """it did not answer in time"""


class EngineFloods(EngineFault):
    """it wrote more than any honest engine does and gave no answer"""


class MatchFault(Complaint):
    """A match that cannot go on; the text says why in a sentence."""


def file_fault(path: Path, error: OSError) -> MatchFault:
    """Return the fault for a file that the match writes to. The match can be continued from its
    resume file."""
    return MatchFault(f"{path} can't be written: {error.strerror}.")


# The interface of all match runners: events as they happen, and an end at any time.


class Match(Protocol):
    """A match in progress: entered to start it, iterated to follow it, left to end it.

    Leaving ends all engines, even in the middle of games, and those games do not count. A match
    that can't continue raises a MatchFault from the iteration.
    """

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *_: object) -> None: ...

    def __aiter__(self) -> AsyncIterator[Event]: ...


# Who plays whom, with which openings, in which order.

Openings = Callable[[int], Opening]
"""The opening of a round, counted from 0."""


def openings_of(book: OpeningBook | None, order: OpeningOrder | None) -> Openings:
    """Return the n-th opening of a book in this order. Without a book it is the starting
    position."""
    if book is None or order is None:
        return lambda _: STANDARD

    def opening(number: int) -> Opening:
        try:
            return book[order[number]]
        except BookFault as fault:
            raise MatchFault(f"{fault}.") from None

    return opening


def round_robin(engines: Sequence[EngineSpec]) -> list[tuple[EngineSpec, EngineSpec]]:
    return list(combinations(engines, 2))


def gauntlet(engines: Sequence[EngineSpec]) -> list[tuple[EngineSpec, EngineSpec]]:
    """Pairings of the first engine with each of the others."""
    return [(engines[0], other) for other in engines[1:]]


def pair_jobs(
    pairings: Sequence[tuple[EngineSpec, EngineSpec]],
    openings: Openings,
    *,
    rounds: int | None = None,
    played: Collection[int] = (),
) -> Iterator[PairJob]:
    """Yield the jobs, round by round: every pairing with the round's opening. Jobs already played
    are left out."""
    for turn in count() if rounds is None else range(rounds):
        for place, (first, second) in enumerate(pairings):
            number = turn * len(pairings) + place
            if number not in played:
                yield PairJob(number, openings(turn), first, second)
