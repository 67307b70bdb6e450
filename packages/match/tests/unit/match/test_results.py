"""The score of a match, and ratings from games among several engines."""

from math import sqrt

import pytest

from rookery.core.model.task import NOTHING, Results
from rookery.core.stats.elo import estimate_elo
from rookery.core.stats.sprt import Sprt, Verdict
from rookery.match.job import pair_results
from rookery.match.results import MatchScore, mirror_results, pair_score_of, rate_engines
from tests.unit.match.games import pair


def after(*pairs: tuple[str, str], sprt: Sprt | None = None) -> MatchScore:
    score = MatchScore(sprt)
    for results in pairs:
        score = score.after(pair_score_of(pair(*results)))
    return score


def test_counts_add_up() -> None:
    score = after(("1-0", "0-1"), ("1/2-1/2", "1-0"))
    assert score.results.pentanomial == (0, 1, 0, 0, 1)
    assert (score.results.wins, score.results.losses, score.results.draws) == (2, 1, 1)


def test_whites_share_counts_both_engines_with_white() -> None:
    assert after(("1-0", "1-0")).white_share == 1.0
    assert after(("1-0", "0-1")).white_share == 0.5


def test_a_test_is_decided_once() -> None:
    sprt = Sprt(0, 50)
    score = after(*[("1-0", "0-1")] * 40, sprt=sprt)
    assert score.verdict is Verdict.ACCEPTED
    for _ in range(100):
        score = score.after(pair_score_of(pair("0-1", "1-0")))
    assert score.verdict is Verdict.ACCEPTED


def test_ends_are_counted_by_kind() -> None:
    assert after(("1-0", "0-1")).terminations == {"normal": 2}


def meeting(pentanomial: tuple[int, int, int, int, int]) -> Results:
    points = ((0, 0), (0, 1), (1, 1), (1, 2), (2, 2))
    parts = [pair_results(points[place]) for place in range(5) for _ in range(pentanomial[place])]
    return sum(parts, NOTHING)


def test_two_engines_differ_by_what_the_plain_estimate_says() -> None:
    bins = (40, 200, 300, 350, 110)
    first, second = rate_engines("ab", {("a", "b"): meeting(bins)})
    plain = estimate_elo(bins)
    assert first.elo - second.elo == pytest.approx(plain.elo, rel=0.01)
    # Each is half the difference away from the mean, and so is its error.
    assert 2 * first.error == pytest.approx(plain.half_width, rel=0.01)


def test_the_table_is_sorted_and_adds_up_to_zero() -> None:
    better = meeting((0, 5, 10, 15, 2))
    table = rate_engines("abc", {("c", "a"): better, ("c", "b"): better, ("b", "a"): better})
    assert [row.name for row in table] == ["c", "b", "a"]
    assert sum(row.elo for row in table) == pytest.approx(0.0, abs=1e-6)


def test_a_clean_sweep_has_a_finite_rating() -> None:
    first, _ = rate_engines("ab", {("a", "b"): meeting((0, 0, 0, 0, 10))})
    assert 200 < first.elo < 1000


def test_games_of_the_others_say_something_too() -> None:
    """Who beats those who beat me is ahead of me, though we never met."""
    better = meeting((0, 10, 30, 50, 10))
    table = {
        row.name: row.elo for row in rate_engines("abc", {("a", "b"): better, ("b", "c"): better})
    }
    assert table["a"] - table["c"] == pytest.approx(2 * (table["a"] - table["b"]), rel=0.02)


def test_nothing_played_is_nothing_known() -> None:
    assert [row.elo for row in rate_engines("ab", {})] == [0.0, 0.0]


def test_errors_shrink_with_the_root_of_the_games() -> None:
    def error(factor: int) -> float:
        return rate_engines("ab", {("a", "b"): meeting((10 * factor,) * 5)})[0].error

    assert error(1) / error(4) == pytest.approx(sqrt(4), rel=0.02)


def test_the_other_view_of_the_other_view_is_the_first() -> None:
    results = meeting((1, 2, 3, 4, 5))
    assert mirror_results(mirror_results(results)) == results
    assert mirror_results(results).wins == results.losses
