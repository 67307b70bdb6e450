"""Where a match between two engines stands: counts, White's share, faults, and the SPRT."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from rookery.core.results import NOTHING, Results
from rookery.core.stats.sprt import Sprt, SprtState, Verdict
from rookery.worker.match.job import PairResult, pair_results


@dataclass(frozen=True, slots=True)
class PairScore:
    """What is counted of a pair, and all that a resumed match needs to know of it."""

    number: int
    first: str
    second: str
    points: tuple[int, int]
    """Half points of `first`, which had White in the first game."""
    terminations: tuple[str, str]
    crashes: int = 0
    time_losses: int = 0
    seconds: float = 0.0

    @property
    def results(self) -> Results:
        return pair_results(self.points, crashes=self.crashes, time_losses=self.time_losses)

    @property
    def white_half_points(self) -> int:
        return self.points[0] + 2 - self.points[1]


def score_of(pair: PairResult) -> PairScore:
    """What is counted of the two games."""
    results = pair.results
    one, two = pair.games
    return PairScore(
        pair.number,
        pair.first,
        pair.second,
        pair.points,
        (one.termination.value, two.termination.value),
        results.crashes,
        results.time_losses,
        one.seconds + two.seconds,
    )


@dataclass(frozen=True, slots=True)
class Standing:
    """The match so far, from the first engine's view."""

    sprt: Sprt | None = None
    results: Results = NOTHING
    state: SprtState = field(default_factory=SprtState)
    white_half_points: int = 0
    game_seconds: float = 0.0
    terminations: Mapping[str, int] = field(default_factory=dict)

    def after(self, pair: PairScore) -> "Standing":
        results = self.results + pair.results
        state = self.state
        if self.sprt and state.verdict is Verdict.RUNNING:
            state = state.after(self.sprt, results.pentanomial, results.trinomial)
        counts = dict(self.terminations)
        for one in pair.terminations:
            counts[one] = counts.get(one, 0) + 1
        return replace(
            self,
            results=results,
            state=state,
            white_half_points=self.white_half_points + pair.white_half_points,
            game_seconds=self.game_seconds + pair.seconds,
            terminations=counts,
        )

    @property
    def verdict(self) -> Verdict:
        return self.state.verdict

    @property
    def white_share(self) -> float:
        """What White scored of all points."""
        return self.white_half_points / (2 * self.results.games) if self.results.games else 0.5
