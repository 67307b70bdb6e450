"""Elo of fixed games, the unbiased Elo of an SPRT, and what a number of games can show."""

from math import isfinite

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from rookery.core.stats.elo import WIDEST_ELO, FixedTest, SequentialElo, estimate_elo, live_elo
from rookery.core.stats.numbers import StatisticsFault, score_of
from rookery.core.stats.sprt import EloModel, Sprt
from tests.unit.stats.strategies import PROPERTY, any_bins, bounds_within
from tests.unit.stats.vectors import P_GAMES, P, Q


@pytest.mark.parametrize(
    ("bins", "known"),
    [
        (P, (-0.7735773359, 1.2775798957, 0.1176588580)),
        (P_GAMES, (-0.7698390909, 1.3137428409, 0.1253755527)),
    ],
)
def test_known_results_give_the_known_elo(
    bins: tuple[int, ...], known: tuple[float, float, float]
) -> None:
    found = estimate_elo(bins)
    assert (found.elo, found.half_width, found.los) == pytest.approx(known, abs=1e-9)


def test_no_results_give_no_elo_and_the_widest_interval() -> None:
    found = estimate_elo((0, 0, 0, 0, 0))
    assert (found.elo, found.half_width, found.los) == pytest.approx(
        (0, 1199.826195, 0.5), abs=1e-6
    )


def test_the_interval_lies_around_the_elo() -> None:
    found = estimate_elo((10, 50, 120, 70, 14))
    assert found.high - found.elo == pytest.approx(found.elo - found.low)


def test_mirrored_results_mirror_everything() -> None:
    there, back = estimate_elo((10, 50, 120, 70, 14)), estimate_elo((14, 70, 120, 50, 10))
    assert (back.elo, back.low, back.los) == pytest.approx((-there.elo, -there.high, 1 - there.los))


@PROPERTY
@given(bins=any_bins)
def test_whatever_the_results_the_answer_is_finite(bins: tuple[int, ...]) -> None:
    found = estimate_elo(bins)
    assert all(map(isfinite, (found.elo, found.half_width, found.los)))
    assert 0.0 <= found.los <= 1.0


def numbers(live: SequentialElo) -> tuple[float, ...]:
    return live.elo, live.low, live.high, live.los, live.llr


@pytest.mark.parametrize(
    ("spec", "bins", "known"),
    [
        (
            Sprt(-3.0, 1.0, EloModel.BAYES),
            P,
            (-0.8982405741, -3.1720006290, 1.3540222690, 0.1896315176, 1.1611714687),
        ),
        (
            Sprt(-3.0, 1.0, EloModel.LOGISTIC),
            P,
            (-0.9925365595, -3.4884921313, 1.4885858955, 0.1880347931, 2.1310678118),
        ),
        (
            Sprt(-1.75, 0.25),
            P,
            (-0.7545069556, -2.0559571772, 0.5654208397, 0.1290909266, -0.6271679157),
        ),
        (
            Sprt(0.764, 3.439),
            Q,
            (0.8651598535, 0.1682713525, 1.5405826879, 0.9919993675, 2.1629408696),
        ),
    ],
)
def test_known_results_give_the_known_live_elo(
    spec: Sprt, bins: tuple[int, ...], known: tuple[float, ...]
) -> None:
    assert numbers(live_elo(spec, bins, P_GAMES)) == pytest.approx(known, abs=1e-9)


def test_a_test_that_just_passed_shows_less_than_the_plain_estimate() -> None:
    bins = (50, 400, 1000, 540, 70)
    live = live_elo(Sprt(0.0, 10.0), bins)
    assert live.llr > live.upper_bound
    assert 0.0 < live.elo < estimate_elo(bins).elo


def test_only_wins_reach_the_upper_end_of_the_scale() -> None:
    live = live_elo(Sprt(0.0, 2.0), (0, 0, 0, 0, 10**7))
    assert (live.elo, live.los) == (WIDEST_ELO, 1.0)


def test_only_losses_reach_the_lower_end_of_the_scale() -> None:
    live = live_elo(Sprt(0.0, 2.0), (10**7, 0, 0, 0, 0))
    assert (live.elo, live.los) == (-WIDEST_ELO, 0.0)


def test_no_results_leave_everything_open() -> None:
    live = live_elo(Sprt(0.0, 2.0), (0, 0, 0, 0, 0))
    assert live.elo == pytest.approx(0.0, abs=1e-6)
    assert (live.low, live.high) == (-WIDEST_ELO, WIDEST_ELO)
    assert live.los == pytest.approx(0.5)


def test_nothing_but_draws_is_mastered_in_bayes_elo() -> None:
    live = live_elo(Sprt(0.0, 2.0, EloModel.BAYES), (0, 10**12, 0))
    assert all(map(isfinite, numbers(live)))


@PROPERTY
@given(
    bins=any_bins,
    bounds=bounds_within(1000.0),
    model=st.sampled_from(EloModel),
    alpha=st.sampled_from([1e-9, 0.05, 0.4]),
)
def test_the_interval_holds_the_elo_whatever_the_results(
    bins: tuple[int, ...], bounds: tuple[float, float], model: EloModel, alpha: float
) -> None:
    live = live_elo(Sprt(*bounds, model, alpha=alpha), bins)
    assert all(map(isfinite, numbers(live)))
    assert live.low - 1e-6 <= live.elo <= live.high + 1e-6
    assert 0.0 <= live.los <= 1.0


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
