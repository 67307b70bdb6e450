"""The score of a match between two engines with its SPRT, and the ratings of several engines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import log, sqrt

from rookery.core.model.task import NOTHING, Results
from rookery.core.stats.numbers import Z95, moments, score_of
from rookery.core.stats.sprt import Sprt, SprtState, Verdict
from rookery.match.job import PairResult, pair_results


@dataclass(frozen=True, slots=True)
class PairScore:
    """The counted results of a pair, and all that a resumed match needs to know about it."""

    number: int
    first: str
    second: str
    points: tuple[int, int]
    """The half points of `first`, which had White in the first game."""
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


def pair_score_of(pair: PairResult) -> PairScore:
    """Return the counted results of two games."""
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
class MatchScore:
    """The results of a match so far, from the first engine's point of view."""

    sprt: Sprt | None = None
    results: Results = NOTHING
    state: SprtState = field(default_factory=SprtState)
    white_half_points: int = 0
    game_seconds: float = 0.0
    terminations: Mapping[str, int] = field(default_factory=dict)

    def after(self, pair: PairScore) -> "MatchScore":
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
        """White's share of all points."""
        return self.white_half_points / (2 * self.results.games) if self.results.games else 0.5


# Ratings of several engines from their games against one another.
#
# The Elo model: an engine's expected score against another is 1 / (1 + 10^(-d/400)) for a
# difference d. The ratings are those that make the results most likely, with one drawn game against
# an average engine added for each, so that a score of 100 % has a finite rating. They add up to
# zero.
#
# The errors use the observed spread of pairs: many draws, or openings that decide games, make an
# interval narrower or wider than a count of games would.

STEPS = 100
CLOSE = 1e-9
PER_ELO = log(10.0) / 400.0
PRIOR_GAMES = 1.0
WIDEST_STEP = 200.0

Pairing = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Rating:
    """The rating of an engine: Elo against the average of the field, with its 95 % interval."""

    name: str
    elo: float
    error: float
    games: int
    score: float
    """The points, where a draw is half a point."""
    results: Results


@dataclass(frozen=True, slots=True)
class _Meeting:
    """The games of two engines: their number, the first one's points, and the variance of those
    points."""

    one: int
    other: int
    games: float
    points: float
    variance: float


def rate_engines(names: Sequence[str], meetings: Mapping[Pairing, Results]) -> list[Rating]:
    """Return the ratings, best first. Results are from the point of view of the first name of each
    pairing."""
    met = [_meeting(names, pairing, results) for pairing, results in meetings.items()]
    met = [one for one in met if one.games]
    elos = _most_likely(len(names), met)
    errors = _errors(elos, met)
    rows = [
        _row(name, elo, error, meetings)
        for name, elo, error in zip(names, elos, errors, strict=True)
    ]
    return sorted(rows, key=lambda row: -row.elo)


def _meeting(names: Sequence[str], pairing: Pairing, results: Results) -> _Meeting:
    counted = moments(results.pentanomial) if results.pairs else None
    # A pair's score is the mean of its two games, so its points vary four times as much.
    variance = 4.0 * results.pairs * counted.variance if counted else 0.0
    return _Meeting(
        names.index(pairing[0]),
        names.index(pairing[1]),
        results.games,
        results.wins + results.draws / 2,
        variance,
    )


def _most_likely(count: int, met: Sequence[_Meeting]) -> list[float]:
    elos = [0.0] * count
    for _ in range(STEPS):
        slope, curve = _derivatives(elos, met)
        step = _solved(curve, slope)
        largest = max(map(abs, step))
        scale = min(1.0, WIDEST_STEP / largest) if largest else 1.0
        elos = [elo + scale * change for elo, change in zip(elos, step, strict=True)]
        if largest < CLOSE:
            break
    mean = sum(elos) / count
    return [elo - mean for elo in elos]


def _derivatives(
    elos: Sequence[float], met: Sequence[_Meeting]
) -> tuple[list[float], list[list[float]]]:
    """Return the gradient of the log-likelihood, and its negative curvature."""
    count = len(elos)
    slope, curve = [0.0] * count, [[0.0] * count for _ in range(count)]
    for place, elo in enumerate(elos):
        expected = score_of(elo)
        slope[place] = PER_ELO * PRIOR_GAMES * (0.5 - expected)
        curve[place][place] = PER_ELO**2 * PRIOR_GAMES * expected * (1 - expected)
    for meeting in met:
        one, other = meeting.one, meeting.other
        expected = score_of(elos[one] - elos[other])
        pull = PER_ELO * (meeting.points - meeting.games * expected)
        bend = PER_ELO**2 * meeting.games * expected * (1 - expected)
        slope[one] += pull
        slope[other] -= pull
        _spread(curve, one, other, bend)
    return slope, curve


def _spread(matrix: list[list[float]], one: int, other: int, value: float) -> None:
    matrix[one][one] += value
    matrix[other][other] += value
    matrix[one][other] -= value
    matrix[other][one] -= value


def _errors(elos: Sequence[float], met: Sequence[_Meeting]) -> list[float]:
    """Return the 95 % half widths: the inverse curvature on both sides of the observed variance of
    points."""
    count = len(elos)
    _, curve = _derivatives(elos, met)
    spread = [[0.0] * count for _ in range(count)]
    for meeting in met:
        _spread(spread, meeting.one, meeting.other, PER_ELO**2 * meeting.variance)
    errors = []
    for place in range(count):
        # For each rating minus the mean of all, as shown in the table.
        chosen = [float(place == other) - 1.0 / count for other in range(count)]
        lever = _solved(curve, chosen)
        variance = sum(
            lever[row] * spread[row][column] * lever[column]
            for row in range(count)
            for column in range(count)
        )
        errors.append(Z95 * sqrt(max(0.0, variance)))
    return errors


def _solved(matrix: Sequence[Sequence[float]], right: Sequence[float]) -> list[float]:
    """Return the solution of a system of linear equations, by elimination with pivots."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    size = len(rows)
    for place in range(size):
        pivot = max(range(place, size), key=lambda row: abs(rows[row][place]))
        rows[place], rows[pivot] = rows[pivot], rows[place]
        for below in range(place + 1, size):
            factor = rows[below][place] / rows[place][place]
            rows[below] = [b - factor * a for b, a in zip(rows[below], rows[place], strict=True)]
    solution = [0.0] * size
    for place in reversed(range(size)):
        known = sum(rows[place][column] * solution[column] for column in range(place + 1, size))
        solution[place] = (rows[place][size] - known) / rows[place][place]
    return solution


def _row(name: str, elo: float, error: float, meetings: Mapping[Pairing, Results]) -> Rating:
    total = NOTHING
    for (one, other), results in meetings.items():
        if name in (one, other):
            total += results if name == one else mirror_results(results)
    return Rating(name, elo, error, total.games, total.wins + total.draws / 2, total)


def mirror_results(results: Results) -> Results:
    """Return the same results from the other engine's point of view."""
    p = results.pentanomial
    return Results(
        results.losses,
        results.wins,
        results.draws,
        results.crashes,
        results.time_losses,
        (p[4], p[3], p[2], p[1], p[0]),
    )
