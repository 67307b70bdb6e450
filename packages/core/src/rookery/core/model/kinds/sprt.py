"""A sequential test of two engines: it ends as soon as the results favour one of two hypotheses."""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from rookery.core.model.kinds.kind import (
    GAMES_PER_PAIR,
    NOTHING,
    REMEMBERED,
    AfterReport,
    Outcome,
    PairedGames,
    Report,
    RunForecast,
    StoredParts,
    StoredTypes,
    find_outcome,
)
from rookery.core.model.task import Pentanomial, Results, Ticket, contradiction
from rookery.core.stats.elo import EloInterval, live_elo, live_elo_on_chart
from rookery.core.stats.outlook import sprt_outlook
from rookery.core.stats.sprt import Sprt, SprtState, Verdict
from rookery.core.stats.walk import TestLength, length_at, pace_of

NEAR_SUCCESS = 2.0
"""The likelihood ratio from which a test gets a larger share, to finish soon."""
FRESH = SprtState()
EDGES = (0.0, 0.5, 1.0)
"""The true Elo values for which lengths are computed, between the bounds: the lower one, the
middle, the upper one."""


@dataclass(frozen=True, slots=True)
class SprtTest(PairedGames):
    """The hypotheses and the state of the test, which is evaluated at every report, in order."""

    name: ClassVar[str] = "sprt"
    settings: ClassVar[str] = "sprt"
    stored: ClassVar = StoredTypes(Sprt, SprtState, NOTHING)

    spec: Sprt
    state: SprtState = FRESH

    @property
    def step(self) -> int:
        return GAMES_PER_PAIR * self.spec.batch_size

    @property
    def bonus(self) -> float:
        if self.state.llr <= NEAR_SUCCESS:
            return 0.0
        return 0.2 if self.spec.elo0 > 0 else 0.1

    @property
    def hypotheses(self) -> Sprt:
        return self.spec

    @property
    def llr(self) -> float:
        return self.state.llr

    @property
    def tune(self) -> None:
        return None

    @property
    def is_simplification(self) -> bool:
        """Whether it asks for no loss rather than for a gain."""
        return self.spec.elo0 + self.spec.elo1 < 0.0

    @property
    def is_early(self) -> bool:
        """Whether the verdict came within the plain bounds, since steps overshoot them."""
        decided = self.state.verdict is not Verdict.RUNNING
        return decided and self.spec.lower < self.state.llr < self.spec.upper

    @property
    def parts(self) -> StoredParts:
        return StoredParts(self.spec, self.state)

    @classmethod
    def joined(cls, parts: StoredParts) -> "SprtTest":
        return cls(parts.rules, parts.progress)

    def objection(self, before: Results, report: Report) -> str | None:
        """Why these results can't be true; official workers report whole batches."""
        del before
        return contradiction(report.results, GAMES_PER_PAIR if report.in_parts else self.step)

    def with_report(
        self, results: Results, ticket: Ticket | None, report: Report
    ) -> AfterReport["SprtTest"]:
        del report
        return AfterReport(self.rejudged(results), ticket)

    def rejudged(self, results: Results) -> "SprtTest":
        state = self.state.after(self.spec, results.pentanomial, results.trinomial)
        return SprtTest(self.spec, state)

    def is_decided(self, results: Results, games: int) -> bool:
        return self.state.verdict is not Verdict.RUNNING or results.games >= games

    def outcome(self, results: Results) -> Outcome:
        passed = Outcome.HELD if self.is_simplification else Outcome.PASSED
        return find_outcome(self.state.verdict, results, passed)

    def estimate(self, results: Results) -> EloInterval | None:
        """Return the Elo, corrected for the bias of the test's early end."""
        if not results.pairs:
            return None
        return _estimate(self.spec, results.pentanomial, results.trinomial)

    def estimate_at(self, pairs: Pentanomial) -> EloInterval:
        return live_elo_on_chart(self.spec, pairs)

    def forecast(self, results: Results, games: int) -> RunForecast | None:
        llr, played = _round_off(self.spec, self.state.llr, results.games)
        return _forecast(self.spec, llr, played, games)

    def expected_games(self, games: int) -> float:
        """Return the mean length at the middle of its bounds, where it is longest."""
        spec = self.spec
        mean = pace_of(spec).walk((spec.elo0 + spec.elo1) / 2).mean_time()
        return min(float(games), mean)

    def expected_lengths(self, games: int) -> tuple[TestLength, ...]:
        spec, most = self.spec, float(games)
        pace, width = pace_of(spec), spec.elo1 - spec.elo0
        return tuple(length_at(pace, spec.elo0 + width * edge, max_games=most) for edge in EDGES)

    def resize_objection(self, before: int, after: int) -> str | None:
        del before, after
        return None


@lru_cache(maxsize=REMEMBERED)
def _estimate(spec: Sprt, pairs: Pentanomial, games: tuple[int, int, int]) -> EloInterval:
    return live_elo(spec, pairs, games)


# The forecast takes some milliseconds, so it is computed from rounded input and cached.


def _round_off(spec: Sprt, llr: float, games: int) -> tuple[float, int]:
    """Round the input to the precision of the forecast, so that similar runs share a cached one."""
    if not _is_young(spec, games):
        return round(llr, 1), _rough(games, 5)
    near = min(llr - spec.lower, spec.upper - llr) < 1
    return round(llr, 1) if near else round(4 * llr) / 4, _rough(games, 2)


def _is_young(spec: Sprt, games: int) -> bool:
    """Whether the results weigh less than the prior, so that their exact number hardly matters."""
    return games * pace_of(spec).variance < 1


@lru_cache(maxsize=REMEMBERED)
def _forecast(spec: Sprt, llr: float, games: int, allowed: int) -> RunForecast | None:
    inside = spec.lower < llr < spec.upper
    if not inside or games >= allowed:
        return None
    found = sprt_outlook(pace_of(spec), llr, games, games_allowed=allowed - games)
    chance = None if found.forecast is None else found.forecast.pass_chance
    return RunForecast(found.games_left.middle, found.games_left, chance)


def _rough(games: int, digits: int) -> int:
    """Round to so many binary digits after the first; five digits are about three per cent."""
    if games < 2:
        return games
    step = 2.0 ** (math.floor(math.log2(games)) - digits)
    return int(max(1.0, round(games / step) * step))
