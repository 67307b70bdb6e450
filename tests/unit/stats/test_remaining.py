"""The rough estimate of remaining work."""

import pytest

from rookery.stats.outlook import fixed_games_left, sprt_games_left
from rookery.stats.sprt import Overshoot, Sprt, SprtState, Verdict

SPEC = Sprt(0.0, 2.0, batch_size=16)


def left(llr: float, games: int, num_games: int = 800_000) -> float:
    return sprt_games_left(SPEC, SprtState(llr), games=games, num_games=num_games)


def test_a_new_test_is_expected_to_be_average() -> None:
    assert left(0.0, 0) == pytest.approx(95_000.0)


def test_a_long_test_speaks_for_itself() -> None:
    games = 2 * 2_632_036
    expected = games * 2.9444389792 / 2.0
    assert left(2.0, games, num_games=10**9) == pytest.approx(expected - games)


def test_in_between_both_are_mixed() -> None:
    trust = 1.0 - (1.0 - 20_000 / 2_632_036) ** 15
    mixed = 40_000 * 2.9444389792 / 1.5 * trust + 95_000 * (1.0 - trust)
    assert left(-1.5, 40_000) == pytest.approx(mixed - 40_000)


def test_a_small_ratio_does_not_promise_eternity() -> None:
    assert left(1e-12, 50_000) == left(0.1, 50_000)


def test_the_limit_on_games_limits_the_estimate() -> None:
    assert left(0.1, 50_000, num_games=60_000) == 10_000


def test_beyond_the_expected_games_nothing_is_left() -> None:
    assert left(2.9, 200_000) == 0.0


def test_past_its_corrected_bound_a_test_needs_nothing() -> None:
    state = SprtState(2.8, Verdict.ACCEPTED, Overshoot(m1=1.0, sq1=0.4))
    assert sprt_games_left(SPEC, state, games=1000, num_games=800_000) == 0.0


def test_fixed_games_count_down() -> None:
    assert fixed_games_left(games=400, num_games=1000) == 600
    assert fixed_games_left(games=1200, num_games=1000) == 0
