"""Results move the parameters."""

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.stats.spsa import (
    Issued,
    PerturbationDraw,
    Tune,
    TuneBatch,
    fold,
    fold_all,
    late_mean,
    new_tune,
    perturb,
    perturb_final,
)
from rookery.stats.spsa import sampling_period as period

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
