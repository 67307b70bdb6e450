"""Random walks between bounds, and how long an SPRT takes at a known Elo."""

from math import exp, isfinite

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.core.stats.sprt import EloModel, Sprt
from rookery.core.stats.walk import GamesRange, Walk, length_at, pace_of
from tests.unit.stats.strategies import PROPERTY, bounds_within

walks = st.builds(
    Walk,
    low=st.floats(-20.0, -0.01),
    high=st.floats(0.01, 20.0),
    drift=st.floats(-5.0, 5.0),
    variance=st.floats(0.01, 100.0),
)


def test_a_fair_walk_ends_by_distance() -> None:
    walk = Walk(-1.0, 3.0, 0.0, 1.0)
    assert (walk.chance_high(), walk.chance_low(), walk.mean_time()) == (0.25, 0.75, 3.0)


def test_a_leaning_walk_ends_as_the_gambler_is_ruined() -> None:
    walk = Walk(-1.0, 2.0, 0.5, 1.0)
    assert walk.chance_high() == pytest.approx((1 - exp(-1.0)) / (1 - exp(-3.0)))


def test_a_barely_leaning_walk_takes_as_long_as_a_fair_one() -> None:
    fair, leaning = Walk(-1.0, 1.0, 0.0, 1.0), Walk(-1.0, 1.0, 1e-5, 1.0)
    assert leaning.mean_time() == pytest.approx(fair.mean_time(), rel=1e-6)


@pytest.mark.parametrize("drift", [-1e9, -1e3, 1e3, 1e9])
def test_an_irresistible_drift_decides(drift: float) -> None:
    walk = Walk(-3.0, 3.0, drift, 1.0)
    assert walk.chance_high() == pytest.approx(float(drift > 0))
    assert walk.mean_time() == pytest.approx(3.0 / abs(drift))
    assert walk.chance_over_by(6.0 / abs(drift)) == pytest.approx(1.0)


def test_nothing_is_over_before_it_begins() -> None:
    assert Walk(-1.0, 1.0, 0.3, 1.0).chance_over_by(0.0) == 0.0


@PROPERTY
@given(walk=walks)
def test_in_the_end_the_walk_is_over(walk: Walk) -> None:
    forever = 1e6 * walk.width**2 / walk.variance
    assert walk.chance_high_by(forever) == pytest.approx(walk.chance_high())
    assert walk.chance_high() + walk.chance_low() == pytest.approx(1.0)


@PROPERTY
@given(walk=walks, corridors=st.floats(0.02, 30.0))
def test_images_and_waves_agree(walk: Walk, corridors: float) -> None:
    if abs(walk.pull * walk.width) > 15.0:
        walk = Walk(walk.low, walk.high, 0.0, walk.variance)
    time = corridors * walk.width**2 / walk.variance
    assert walk.chance_below(time, walk.high) == pytest.approx(
        1.0 - walk.chance_high_by(time), abs=1e-12
    )


@PROPERTY
@given(walk=walks, corridors=st.floats(1e-6, 1e3), share=st.floats(0.0, 1.0))
def test_chances_are_chances(walk: Walk, corridors: float, share: float) -> None:
    time = corridors * walk.width**2 / walk.variance
    y = walk.low + share * walk.width
    for chance in (walk.chance_below(time, y), walk.chance_over_by(time)):
        assert isfinite(chance)
        assert 0.0 <= chance <= 1.0


@PROPERTY
@given(walk=walks, corridors=st.floats(0.001, 10.0))
def test_more_time_never_makes_an_end_less_likely(walk: Walk, corridors: float) -> None:
    time = corridors * walk.width**2 / walk.variance
    assert walk.chance_over_by(time) <= walk.chance_over_by(1.5 * time) + 1e-12


def test_short_walks_continue_what_long_ones_show() -> None:
    walk = Walk(-2.9, 2.9, 0.2, 1.0)
    just_short, just_long = (0.0099999 * walk.width**2, 0.0100001 * walk.width**2)
    assert walk.chance_below(just_short, 0.1) == pytest.approx(
        walk.chance_below(just_long, 0.1), abs=1e-5
    )


def test_a_mirrored_walk_ends_at_the_other_bound() -> None:
    walk = Walk(-1.0, 2.0, 0.5, 1.0)
    assert walk.mirrored().chance_low_by(1.3) == walk.chance_high_by(1.3)


PACE = pace_of(Sprt(0.0, 2.0))


def test_at_the_bounds_the_error_rates_are_those_asked_for() -> None:
    assert length_at(PACE, 0.0).pass_chance == pytest.approx(0.05)
    assert length_at(PACE, 2.0).fail_chance == pytest.approx(0.05)


def test_the_middle_is_a_coin_toss_and_takes_longest() -> None:
    middle = length_at(PACE, 1.0)
    assert middle.pass_chance == pytest.approx(0.5)
    assert middle.mean_games > length_at(PACE, 0.0).mean_games


def test_the_mean_length_at_a_bound_is_walds() -> None:
    """0.9 times ln 19, over half a width squared per game."""
    assert length_at(PACE, 0.0).mean_games == pytest.approx(159_942.4, abs=1.0)


def test_half_the_width_takes_four_times_the_games() -> None:
    narrow = pace_of(Sprt(0.0, 1.0))
    ratio = length_at(narrow, 0.0).mean_games / length_at(PACE, 0.0).mean_games
    assert ratio == pytest.approx(4.0)


def test_half_of_the_tests_are_over_by_the_middle_of_the_range() -> None:
    games = length_at(PACE, 0.5).games
    assert PACE.walk(0.5).chance_over_by(games.middle) == pytest.approx(0.5, abs=1e-4)
    assert games.early < games.middle < games.late


def test_a_limit_leaves_some_tests_undecided() -> None:
    limited = length_at(PACE, 1.0, max_games=100_000)
    assert limited.undecided_chance == pytest.approx(0.7885, abs=1e-4)
    assert limited.mean_games < 100_000
    assert limited.games.late == 100_000


def test_a_limit_that_hardly_matters_hardly_matters() -> None:
    free, limited = length_at(PACE, 0.3), length_at(PACE, 0.3, max_games=2e6)
    assert limited.mean_games == pytest.approx(free.mean_games, rel=1e-4)


def test_a_limit_far_away_changes_nothing() -> None:
    free, limited = length_at(PACE, 0.3), length_at(PACE, 0.3, max_games=1e9)
    assert limited.mean_games == pytest.approx(free.mean_games, rel=1e-4)
    assert limited.pass_chance == pytest.approx(free.pass_chance)


def test_without_correction_tests_take_longer() -> None:
    spec = Sprt(0.0, 10.0, batch_size=16)
    plain = length_at(pace_of(spec, corrected=False), 0.0)
    assert plain.mean_games > length_at(pace_of(spec), 0.0).mean_games
    assert plain.pass_chance < 0.05


def test_games_that_spread_less_are_faster_in_logistic_elo() -> None:
    spec = Sprt(0.0, 2.0, EloModel.LOGISTIC)
    calm, wild = pace_of(spec, 0.2), pace_of(spec, 0.4)
    assert length_at(wild, 0.0).mean_games == pytest.approx(4 * length_at(calm, 0.0).mean_games)


def test_a_range_becomes_time() -> None:
    assert GamesRange(10.0, 20.0, 40.0).scaled(0.5) == GamesRange(5.0, 10.0, 20.0)


@PROPERTY
@given(bounds=bounds_within(1000.0), elo=st.floats(-1e300, 1e300), model=st.sampled_from(EloModel))
def test_any_elo_gives_a_finite_length(
    bounds: tuple[float, float], elo: float, model: EloModel
) -> None:
    length = length_at(pace_of(Sprt(*bounds, model)), elo)
    assert all(map(isfinite, (length.mean_games, length.games.early, length.games.late)))
    assert 0.0 <= length.pass_chance <= 1.0
