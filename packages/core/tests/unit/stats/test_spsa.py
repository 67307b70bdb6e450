"""Tuning: values that play one another, results that move them, and what people copy."""

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.core.stats.spsa import (
    Issued,
    LineStyle,
    ParameterSample,
    PerturbationDraw,
    Tune,
    TuneBatch,
    as_lines,
    as_mapping,
    as_options,
    as_pairs,
    as_setoption,
    fold,
    fold_all,
    joint_signature,
    late_mean,
    new_tune,
    pack,
    packed_size,
    perturb,
    perturb_final,
    signature,
    unpack,
)
from rookery.core.stats.spsa import sampling_period as period
from rookery.core.stats.spsa_parameters import ParameterKind, SpsaFault, read_lines


def test_the_first_flip_is_the_most_significant_bit() -> None:
    packed = pack([1, -1, -1, 1, 1, 1, -1, -1, 1, -1])
    assert packed == bytes.fromhex("9c80")
    assert signature(packed) == 1905611977


def test_no_flips_have_the_signature_zero() -> None:
    assert signature(pack([])) == 0


def test_signatures_are_never_negative() -> None:
    assert all(signature(bytes([value])) >= 0 for value in range(256))


@given(st.lists(st.sampled_from([1, -1]), max_size=40))
def test_unpacking_gives_the_flips_back(flips: list[int]) -> None:
    packed = pack(flips)
    assert len(packed) == packed_size(len(flips))
    assert unpack(packed, len(flips)) == tuple(flips)


def test_bits_behind_the_last_parameter_do_not_count() -> None:
    assert unpack(b"\xbf", 2) == (1, -1)


def test_a_draw_of_the_wrong_size_is_refused() -> None:
    with pytest.raises(SpsaFault, match="holds 1 values, 2 are wanted"):
        unpack(b"\x00", 9)


def test_perturbations_given_out_together_are_signed_together() -> None:
    assert joint_signature([b"\x9c", b"\x80"]) == 1905611977


TWO_VALUES = new_tune("P,100,0,200,20,0.002\nQ,float,0.5,0,1,0.05,0.002", 60_000)
UNITS = st.floats(0, 1, exclude_max=True)


def test_new_and_base_lie_one_step_to_either_side() -> None:
    found = perturb(TWO_VALUES, b"\x80")
    assert found.flips == (1, -1)
    assert found.new == pytest.approx((156.6525213, 0.3583687))
    assert found.base == pytest.approx((43.3474787, 0.6416313))


def test_what_was_drawn_is_kept_with_its_iteration() -> None:
    assert perturb(TWO_VALUES, b"\xbf").issued == Issued(iteration=0, packed_flips=b"\x80")


def test_perturbed_values_stay_within_their_range() -> None:
    tune = new_tune("P,10,0,30,20,0.002", 60_000)
    assert perturb(tune, b"\x80").new == (30,)
    assert perturb(tune, b"\x80").base == (0,)


def test_our_workers_get_whole_numbers_and_floats_as_they_are() -> None:
    (found,) = perturb_final(TWO_VALUES, [PerturbationDraw(b"\x80", (0.5, 0.5))])
    assert found.new == pytest.approx((157, 0.3583687))
    assert isinstance(found.new[0], int)


def test_each_slot_gets_its_own_perturbation() -> None:
    one, two = perturb_final(
        TWO_VALUES, [PerturbationDraw(b"\x80", (0, 0)), PerturbationDraw(b"\x40", (0, 0))]
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
        perturb_final(TWO_VALUES, [PerturbationDraw(b"\x80", (0.5,))])


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
    assert perturb_final(TWO_VALUES, [draw, draw])[0] == perturb_final(TWO_VALUES, [draw])[0]


def test_only_a_float_parameter_keeps_official_workers_away() -> None:
    assert TWO_VALUES.needs_floats
    assert TWO_VALUES.parameters[0].line.kind is ParameterKind.INT
    assert not new_tune("P,100,0,200,20,0.002", 1000).needs_floats


TUNE = new_tune("P,100,0,200,20,0.002", 60_000)
UP = perturb(TUNE, b"\x80").issued


def batch(wins: int, losses: int, issued: Issued = UP, games: int = 32) -> TuneBatch:
    return TuneBatch(games, wins, losses, issued.signature)


def test_a_won_batch_moves_towards_the_new_engines_side() -> None:
    moved = fold(TUNE, UP, batch(wins=9, losses=5))
    assert moved.thetas == pytest.approx((100.23920045,))
    assert moved.iteration == 16


def test_a_lost_batch_moves_away() -> None:
    assert fold(TUNE, UP, batch(wins=5, losses=9)).thetas == pytest.approx((99.76079955,))


def test_the_steps_are_those_of_the_iteration_it_was_issued_at() -> None:
    late = replace(TUNE, iteration=1000, thetas=(120.0,))
    assert fold(late, UP, batch(9, 5)).thetas == pytest.approx((120.23920045,))
    now = replace(UP, iteration=1000)
    assert fold(late, now, batch(9, 5, now)).thetas == pytest.approx((120.40421693,))


def test_another_signature_leaves_the_tune_alone() -> None:
    assert fold(TUNE, UP, replace(batch(9, 5), signature=1)) == TUNE


def test_nothing_issued_nothing_moved() -> None:
    assert fold(TUNE, None, batch(9, 5)) == TUNE


def test_values_stay_within_their_range() -> None:
    assert fold(replace(TUNE, thetas=(200.0,)), UP, batch(30, 0)).thetas == (200,)


def test_a_final_batch_moves_by_the_step_it_was_played_with() -> None:
    tune = new_tune("P,5,0,9,0.1,0.02", 1000)
    (played,) = perturb_final(tune, [PerturbationDraw(b"\x80", (0.5,))])
    step = tune.steps(0, final=True)[0]
    moved = fold(tune, played.issued, batch(3, 1, played.issued, games=4))
    assert step.c == 0.5
    assert moved.thetas == pytest.approx((5 + 2 * step.r * step.c,))


def test_perturbations_given_out_together_fold_one_by_one() -> None:
    draws = [PerturbationDraw(b"\x80", (0.5,)), PerturbationDraw(b"\x00", (0.5,))]
    up, down = (each.issued for each in perturb_final(TUNE, draws))
    moved = fold_all(TUNE, [(up, batch(2, 0, up, 2)), (down, batch(2, 0, down, 2))])
    assert moved.thetas == pytest.approx((100,))
    assert moved.iteration == 2


def played(tune: Tune, batches: int, games: int) -> Tune:
    for _ in range(batches):
        tune = fold(tune, UP, batch(1, 0, games=games))
    return tune


def test_the_history_has_a_sample_per_period() -> None:
    tune = new_tune("P,100,0,200,20,0.002", 2000)
    assert period(tune) == 10
    assert [len(played(tune, n, 2).history) for n in (9, 10, 19, 20)] == [0, 1, 1, 2]


def test_a_sample_holds_value_and_steps() -> None:
    tune = played(new_tune("P,100,0,200,20,0.002", 200), 1, 2)
    ((sample,),) = tune.history
    assert (sample.theta, sample.c) == (tune.thetas[0], tune.steps(0)[0].c)


def test_a_big_batch_adds_one_sample_only() -> None:
    assert len(played(new_tune("P,100,0,200,20,0.002", 2000), 1, 400).history) == 1


@pytest.mark.parametrize(("parameters", "wanted"), [(99, 10), (100, 10), (500, 50), (1000, 1000)])
def test_many_parameters_have_fewer_samples(parameters: int, wanted: float) -> None:
    lines = "\n".join(f"P{number},1,0,2,1,0.002" for number in range(parameters))
    assert period(new_tune(lines, 2000)) == wanted


@given(st.lists(st.tuples(st.integers(0, 32), st.integers(0, 32), st.booleans()), max_size=30))
def test_no_result_ever_leaves_the_range(results: list[tuple[int, int, bool]]) -> None:
    tune = new_tune("P,1,0,2,1,1000\nQ,float,0,-1,1,0.001,0.5", 64)
    for wins, losses, up in results:
        issued = perturb(tune, b"\x80" if up else b"\x40").issued
        tune = fold(tune, issued, batch(wins, losses, issued))
        assert 0 <= tune.thetas[0] <= 2
        assert -1 <= tune.thetas[1] <= 1


def test_tuning_finds_the_top_of_a_hill() -> None:
    tune = new_tune("P,20,0,200,20,0.02\nQ,180,0,200,20,0.02", 4000)
    chance = random.Random(7)
    while tune.iteration < tune.schedule.iterations:
        found = perturb(tune, chance.randbytes(1))
        gain = sum(abs(b - 100) - abs(n - 100) for n, b in zip(found.new, found.base, strict=True))
        wins = sum(chance.random() < 0.5 + gain / 400 for _ in range(8))
        tune = fold(tune, found.issued, batch(wins, 8 - wins, found.issued, games=8))
    assert all(abs(mean - 100) < 20 for mean in late_mean(tune))


VALUES = (103.7, 0.1 + 0.2)


def test_whole_numbers_are_rounded_and_floats_are_not() -> None:
    assert as_pairs(TWO_VALUES, VALUES) == ("P 104", "Q 0.3")


def test_values_as_commands_for_an_engine() -> None:
    assert as_setoption(TWO_VALUES, VALUES)[0] == "setoption name P value 104"


def test_values_as_the_options_of_a_test() -> None:
    assert as_options(TWO_VALUES, VALUES) == "P=104 Q=0.3"


def test_a_name_with_a_space_is_kept_by_name_but_cannot_be_an_option_word() -> None:
    tune = new_tune("Skill Level,10,0,20,2,0.002", 1000)
    assert as_mapping(tune, [11]) == {"Skill Level": "11"}
    with pytest.raises(SpsaFault, match="Skill Level"):
        as_options(tune, [11])


def test_values_as_lines_for_the_next_tune() -> None:
    lines = as_lines(TWO_VALUES, VALUES)
    assert lines == ("P,int,103.7,0,200,20,0.002", "Q,float,0.3,0,1,0.05,0.002")
    assert read_lines("\n".join(lines))[0].start == 103.7


def test_whole_numbers_alone_are_written_in_six_fields() -> None:
    tune = new_tune("P,100,0,200,20,0.002", 1000)
    assert as_lines(tune, [101]) == ("P,101,0,200,20,0.002",)
    assert as_lines(tune, [101], LineStyle.SEVEN_FIELDS) == ("P,int,101,0,200,20,0.002",)


@pytest.mark.parametrize(("value", "text"), [(1e-7, "0.0000001"), (-0.0, "0"), (1, "1")])
def test_numbers_are_written_without_exponents(value: float, text: str) -> None:
    tune = new_tune("Q,float,0,-1,1,0.05,0.002", 1000)
    assert as_options(tune, [value]) == f"Q={text}"


def test_the_mean_is_taken_over_the_last_fifth() -> None:
    history = tuple(
        (ParameterSample(float(n), 0, 0), ParameterSample(-float(n), 0, 0)) for n in range(1, 11)
    )
    assert late_mean(replace(TWO_VALUES, history=history)) == (9.5, -9.5)


def test_without_a_history_the_mean_is_where_the_tune_stands() -> None:
    assert late_mean(TWO_VALUES) == TWO_VALUES.thetas
