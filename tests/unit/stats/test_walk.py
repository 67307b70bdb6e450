"""Random walks between bounds: two independent series against each other, and simple cases."""

from math import exp, isfinite

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.stats.walk import Walk
from tests.unit.stats.strategies import PROPERTY

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
