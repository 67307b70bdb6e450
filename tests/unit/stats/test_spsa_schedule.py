"""Step sizes over the life of a tune, against the contract's figures."""

import pytest

from rookery.stats.spsa import new_tune
from rookery.stats.spsa_parameters import SpsaFault, schedule_for

TUNE = new_tune("P,100,0,200,20,0.002", 60_000)


def test_the_first_steps_follow_from_the_last() -> None:
    parameter = TUNE.parameters[0]
    assert TUNE.schedule.stability == 3000
    assert parameter.c == pytest.approx(56.65252125, abs=1e-8)
    assert parameter.a_end == pytest.approx(0.8)
    assert parameter.a == pytest.approx(419.98654651, abs=1e-8)


@pytest.mark.parametrize(
    ("iteration", "c", "r", "move"),
    [
        (0, 56.65252125, 0.00105555961, 0.23920045),
        (1000, 28.19521435, 0.00358409168, 0.40421693),
        (29_999, 20, 0.002, 0.16),
    ],
)
def test_steps_at_an_iteration(iteration: int, c: float, r: float, move: float) -> None:
    steps = TUNE.steps(iteration)[0]
    assert steps.c == pytest.approx(c, abs=1e-8)
    assert steps.r == pytest.approx(r, abs=1e-11)
    assert steps.r * steps.c * 4 == pytest.approx(move, abs=1e-8)


def test_the_last_iteration_has_the_steps_the_author_asked_for() -> None:
    steps = TUNE.steps(TUNE.schedule.last)[0]
    assert (steps.c, steps.r) == pytest.approx((20, 0.002))


def test_final_steps_keep_whole_numbers_half_apart() -> None:
    tune = new_tune("I,int,5,0,9,0.1,0.002\nF,float,5,0,9,0.1,0.002", 1000)
    whole, broken = tune.steps(tune.schedule.last, final=True)
    assert (whole.c, broken.c) == pytest.approx((0.5, 0.1))


@pytest.mark.parametrize(
    ("games", "a_ratio", "alpha", "gamma"),
    [(0, 0.1, 0.6, 0.1), (100, -1, 0.6, 0.1), (100, 0.1, 99, 0.1), (100, 0.1, 0.6, float("nan"))],
)
def test_impossible_settings_are_refused(
    games: int, a_ratio: float, alpha: float, gamma: float
) -> None:
    with pytest.raises(SpsaFault, match="must lie within"):
        schedule_for(games, a_ratio=a_ratio, alpha=alpha, gamma=gamma)
