"""What a fixed number of games can show."""

import pytest
from scipy import special

from rookery.stats.elo import FixedTest
from rookery.stats.numbers import StatisticsFault, score_of

TEST = FixedTest(sigma_per_game=0.3)


def test_equal_engines_raise_false_alarms_at_rate_alpha() -> None:
    assert TEST.power(10_000, 0.0) == pytest.approx(0.05)


def test_power_is_that_of_a_z_test() -> None:
    shift = (score_of(3.0) - 0.5) * 200.0 / 0.3
    assert TEST.power(40_000, 3.0) == pytest.approx(
        float(special.ndtr(shift - special.ndtri(0.95)))
    )


def test_the_games_needed_have_the_power_asked_for() -> None:
    assert TEST.power(TEST.games_needed(2.0, 0.9), 2.0) == pytest.approx(0.9)


def test_the_smallest_elo_has_the_power_asked_for() -> None:
    assert TEST.power(40_000, TEST.smallest_elo(40_000, 0.8)) == pytest.approx(0.8)


def test_four_times_the_games_halve_the_interval() -> None:
    assert TEST.half_width(10_000) == pytest.approx(2 * TEST.half_width(40_000), rel=1e-3)


@pytest.mark.parametrize(
    ("elo", "power"), [(0.0, 0.9), (-1.0, 0.9), (1e-300, 0.9), (2.0, 0.05), (2.0, 1.0), (2.0, 7.0)]
)
def test_impossible_wishes_are_refused(elo: float, power: float) -> None:
    with pytest.raises(StatisticsFault, match="power above alpha"):
        TEST.games_needed(elo, power)


@pytest.mark.parametrize(("sigma", "alpha"), [(0.0, 0.05), (0.3, 0.0), (0.3, 0.9), (2.0, 0.05)])
def test_impossible_tests_are_refused(sigma: float, alpha: float) -> None:
    with pytest.raises(StatisticsFault, match="power above alpha"):
        FixedTest(sigma, alpha)


def test_no_games_are_refused() -> None:
    with pytest.raises(StatisticsFault, match="power above alpha"):
        TEST.power(0, 2.0)


def test_few_games_show_only_what_the_scale_holds() -> None:
    assert TEST.smallest_elo(1e-9, 0.9) == pytest.approx(1199.83, abs=0.01)
