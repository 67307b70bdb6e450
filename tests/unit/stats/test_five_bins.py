"""What is written out for five bins is what the loops say, to the last bit."""

from hypothesis import given
from hypothesis import strategies as st

from rookery.stats.likelihood import _refined, _shares, tilt_of_five_to_sigmas
from rookery.stats.numbers import PENTANOMIAL, regularised
from tests.unit.stats.strategies import PROPERTY

COUNTS = st.one_of(st.just(0), st.integers(0, 40), st.integers(0, 10**6))
TARGETS = st.floats(-0.1, 0.1).filter(bool) | st.floats(-100.0, 100.0).filter(bool)


@PROPERTY
@given(st.tuples(*[COUNTS] * 5), TARGETS)
def test_both_ways_find_the_very_same_tilt(bins: tuple[int, ...], target: float) -> None:
    shares = _shares(regularised(bins))
    found = tilt_of_five_to_sigmas(shares, target)
    if found is not None:
        tilt, slopes = _refined(shares, PENTANOMIAL, target)
        assert found == (tilt, tuple(slopes))


def test_a_target_too_far_for_the_usual_start_is_left_to_the_loops() -> None:
    assert tilt_of_five_to_sigmas((0.2,) * 5, 100.0) is None
