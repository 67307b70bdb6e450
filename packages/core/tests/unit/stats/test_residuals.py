"""Who stands out among the workers."""

from math import isfinite

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.core.stats.numbers import StatisticsFault
from rookery.core.stats.residuals import (
    AUTOMATIC,
    MANUAL,
    Colour,
    WorkerTest,
    bad_worker,
    excessive,
    judge_workers,
)
from tests.unit.stats.strategies import ANY, PROPERTY

WORKERS = {
    "a": (5, 50, 100, 52, 6),
    "b": (4, 48, 105, 50, 5),
    "c": (20, 80, 90, 20, 2),
    "d": (0, 0, 3, 1, 0),
}


@pytest.fixture
def judged() -> WorkerTest:
    found = judge_workers(WORKERS)
    assert found is not None
    return found


def test_known_workers_give_the_known_chi_square(judged: WorkerTest) -> None:
    assert judged.chi_square == pytest.approx(39.9047102, abs=1e-7)
    assert judged.degrees == 4
    assert judged.p_value == pytest.approx(4.529e-08, rel=1e-3)


def test_known_workers_give_the_known_residuals(judged: WorkerTest) -> None:
    known = {"a": 2.456226, "b": 2.524335, "c": 5.847203}
    assert judged.residuals == pytest.approx(known, abs=1e-6)


def test_the_bars_rise_with_the_number_of_workers(judged: WorkerTest) -> None:
    assert judged.yellow_from == pytest.approx(2.128045, abs=1e-6)
    assert judged.red_from == pytest.approx(2.713052, abs=1e-6)


def test_colours_follow_the_bars(judged: WorkerTest) -> None:
    colours = [judged.colour(residual) for residual in (2.0, 2.5, 5.8)]
    assert colours == [Colour.GREEN, Colour.YELLOW, Colour.RED]


def test_a_worker_with_few_results_is_not_judged(judged: WorkerTest) -> None:
    assert "d" not in judged.residuals


@pytest.mark.parametrize("rule", [AUTOMATIC, MANUAL])
def test_the_worst_worker_is_taken_out(judged: WorkerTest, rule: object) -> None:
    assert bad_worker(judged, AUTOMATIC if rule is AUTOMATIC else MANUAL) == "c"


def test_workers_that_agree_are_left_alone() -> None:
    assert bad_worker(judge_workers({"a": WORKERS["a"], "b": WORKERS["b"]}), MANUAL) is None


def test_one_worker_cannot_be_compared() -> None:
    assert judge_workers({"a": WORKERS["a"]}) is None
    assert bad_worker(None, AUTOMATIC) is None


def test_no_workers_cannot_be_compared() -> None:
    assert judge_workers({}) is None


def test_an_outcome_that_never_came_allows_no_test() -> None:
    assert judge_workers({"a": (0, 0, 500, 0, 0), "b": (0, 0, 500, 0, 0)}) is None


def test_worlds_apart_still_make_finite_residuals() -> None:
    found = judge_workers({"a": (10**6, 0, 10**5, 0, 0), "b": (0, 0, 10**5, 0, 10**6)})
    assert found is not None
    assert found.p_value == 0.0
    assert all(isfinite(residual) for residual in found.residuals.values())


def test_single_games_are_refused() -> None:
    with pytest.raises(StatisticsFault, match="3 counts"):
        judge_workers({"a": (1, 2, 3)})


@pytest.mark.parametrize(
    ("games", "crashes", "time_losses", "too_many"),
    [
        (10, 3, 10, False),
        (10, 4, 0, True),
        (20, 0, 20, False),
        (100, 0, 10, False),
        (100, 0, 11, True),
    ],
)
def test_crashes_and_time_losses_have_a_limit(
    games: int, crashes: int, time_losses: int, too_many: bool
) -> None:
    assert excessive(games=games, crashes=crashes, time_losses=time_losses) is too_many


@PROPERTY
@given(st.dictionaries(st.sampled_from("abcdefgh"), st.tuples(ANY, ANY, ANY, ANY, ANY)))
def test_whatever_the_results_the_test_is_finite(workers: dict[str, tuple[int, ...]]) -> None:
    found = judge_workers(workers)
    if found is not None:
        assert all(isfinite(residual) and residual >= 0 for residual in found.residuals.values())
        assert 0.0 <= found.p_value <= 1.0
