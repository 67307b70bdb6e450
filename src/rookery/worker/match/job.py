"""What a match is made of: pairs of games to play, the rules for them, and what came out."""

from dataclasses import dataclass, field

from rookery.core.results import Pentanomial, Results
from rookery.worker.match.adjudication import Adjudication
from rookery.worker.match.record import GameResult, Termination
from rookery.worker.match.spec import EngineSpec, Patience
from rookery.worker.openings import Opening

CRASHES = frozenset({Termination.CRASH, Termination.STALL})


@dataclass(frozen=True, slots=True)
class Setup:
    """What holds for all games of a match."""

    adjudication: Adjudication = field(default_factory=Adjudication)
    chess960: bool = False
    margin_ms: int = 20
    patience: Patience = field(default_factory=Patience)
    syzygy: tuple[str, ...] = ()
    """Folders with tablebases; looked at only if the adjudication has a number of men."""
    strict_pvs: bool = False
    """A principal variation with an illegal move loses the game instead of being counted."""


@dataclass(frozen=True, slots=True)
class PairJob:
    """Two games from one opening; `first` has White in the first of them."""

    number: int
    opening: Opening
    first: EngineSpec
    second: EngineSpec


@dataclass(frozen=True, slots=True)
class PairResult:
    """The two games of a job, in the order they were played."""

    number: int
    first: str
    second: str
    games: tuple[GameResult, GameResult]
    slot: int = 0
    """Where it was played, among all the places that play at once."""

    @property
    def points(self) -> tuple[int, int]:
        """Half points of `first` in each game."""
        return self.games[0].white_points, 2 - self.games[1].white_points

    @property
    def results(self) -> Results:
        """The pair as counts, from the first engine's view."""
        return pair_results(
            self.points,
            crashes=sum(game.termination in CRASHES for game in self.games),
            time_losses=sum(game.termination is Termination.TIME for game in self.games),
        )


def pair_results(points: tuple[int, int], *, crashes: int = 0, time_losses: int = 0) -> Results:
    """A pair's counts from the half points of its first engine in each game."""
    bins = [0, 0, 0, 0, 0]
    bins[sum(points)] = 1
    pentanomial: Pentanomial = (bins[0], bins[1], bins[2], bins[3], bins[4])
    return Results(
        points.count(2), points.count(0), points.count(1), crashes, time_losses, pentanomial
    )
