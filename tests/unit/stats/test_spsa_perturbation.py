"""Values that play one another."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.stats.spsa import Issued, PerturbationDraw, new_tune, perturb, perturb_final
from rookery.stats.spsa_parameters import ParameterKind, SpsaFault

TUNE = new_tune("P,100,0,200,20,0.002\nQ,float,0.5,0,1,0.05,0.002", 60_000)
UNITS = st.floats(0, 1, exclude_max=True)


def test_new_and_base_lie_one_step_to_either_side() -> None:
    found = perturb(TUNE, b"\x80")
    assert found.flips == (1, -1)
    assert found.new == pytest.approx((156.6525213, 0.3583687))
    assert found.base == pytest.approx((43.3474787, 0.6416313))


def test_what_was_drawn_is_kept_with_its_iteration() -> None:
    assert perturb(TUNE, b"\xbf").issued == Issued(iteration=0, packed_flips=b"\x80")


def test_values_stay_within_their_range() -> None:
    tune = new_tune("P,10,0,30,20,0.002", 60_000)
    assert perturb(tune, b"\x80").new == (30,)
    assert perturb(tune, b"\x80").base == (0,)


def test_our_workers_get_whole_numbers_and_floats_as_they_are() -> None:
    (found,) = perturb_final(TUNE, [PerturbationDraw(b"\x80", (0.5, 0.5))])
    assert found.new == pytest.approx((157, 0.3583687))
    assert isinstance(found.new[0], int)


def test_each_slot_gets_its_own_perturbation() -> None:
    one, two = perturb_final(
        TUNE, [PerturbationDraw(b"\x80", (0, 0)), PerturbationDraw(b"\x40", (0, 0))]
    )
    assert (one.flips, two.flips) == ((1, -1), (-1, 1))
    assert one.issued.final
    assert one.issued.signature != two.issued.signature


def test_whole_bounds_hold_after_rounding() -> None:
    tune = new_tune("P,5,0.5,9.5,9,0.002", 1000)
    (found,) = perturb_final(tune, [PerturbationDraw(b"\x80", (0.9,))])
    assert (found.new, found.base) == ((9,), (1,))


def test_a_rounding_draw_for_every_parameter_is_wanted() -> None:
    with pytest.raises(SpsaFault, match="are wanted"):
        perturb_final(TUNE, [PerturbationDraw(b"\x80", (0.5,))])


@given(st.floats(0.001, 0.9), st.integers(0, 10**6), UNITS, st.binary(min_size=1, max_size=1))
def test_both_sides_of_a_whole_number_always_differ(
    c_end: float, iteration: int, draw: float, flips: bytes
) -> None:
    tune = replace(new_tune(f"P,100,0,200,{c_end:f},0.002", 1000), iteration=iteration)
    (found,) = perturb_final(tune, [PerturbationDraw(flips, (draw,))])
    assert found.new[0] != found.base[0]


@given(st.lists(UNITS, min_size=2, max_size=2), st.binary(min_size=1, max_size=1))
def test_the_same_draw_gives_the_same_values(rounding: list[float], flips: bytes) -> None:
    draw = PerturbationDraw(flips, (rounding[0], rounding[1]))
    assert perturb_final(TUNE, [draw, draw])[0] == perturb_final(TUNE, [draw])[0]


def test_only_a_float_parameter_keeps_official_workers_away() -> None:
    assert TUNE.needs_floats
    assert TUNE.parameters[0].line.kind is ParameterKind.INT
    assert not new_tune("P,100,0,200,20,0.002", 1000).needs_floats
