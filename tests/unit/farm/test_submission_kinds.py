"""The kind of a run: a sequential test, a tune or fixed games, with the right batches."""

import pytest

from rookery.farm.submission import Surroundings, planned
from rookery.model.kinds import Fixed, SprtTest, SpsaTuning
from tests.submissions import SPRT, kind_of, plan_of, submitted

LINES = "A,10,0,20,1,0.002\nB,5,0,10,1,0.002"


def sprt_of(**changes: object) -> SprtTest:
    kind = kind_of(sprt=SPRT, **changes)
    assert isinstance(kind, SprtTest)
    return kind


def tune_of(**spsa: object) -> SpsaTuning:
    kind = kind_of(spsa={"raw_params": LINES, **spsa}, num_games=60_000)
    assert isinstance(kind, SpsaTuning)
    return kind


def test_without_a_rule_to_stop_the_games_are_fixed() -> None:
    assert kind_of() == Fixed()


@pytest.mark.parametrize(
    ("tc", "threads", "batch"),
    [("10+0.1", 1, 16), ("60+0.6", 1, 3), ("1+0.01", 1, 38), ("5+0.05", 8, 4)],
)
def test_a_batch_of_what_official_workers_play_follows_the_formula(
    tc: str, threads: int, batch: int
) -> None:
    assert sprt_of(tc=tc, threads=threads, num_games=800_000).spec.batch_size == batch


def test_a_batch_that_was_asked_for_is_kept() -> None:
    kind = kind_of(sprt={**SPRT, "batch_size": 2})
    assert isinstance(kind, SprtTest)
    assert kind.step == 4


def test_where_only_our_workers_play_nobody_waits_longer_than_a_minute() -> None:
    args = submitted(tc="N=5000", sprt=SPRT, num_games=40_000)
    _, kind = planned(args, "olga", Surroundings(speed_of=lambda _: 10_000.0, median_cores=2))
    assert isinstance(kind, SprtTest)
    assert kind.spec.batch_size == 55


@pytest.mark.parametrize(("width", "most"), [(40.0, 7), (10.0, 127)])
def test_a_batch_is_a_few_per_cent_of_a_test_with_wide_bounds(width: float, most: int) -> None:
    args = submitted(tc="N=10", sprt={"elo0": 0.0, "elo1": width}, num_games=800_000)
    _, kind = planned(args, "olga", Surroundings(speed_of=lambda _: 1e6, median_cores=64))
    assert isinstance(kind, SprtTest)
    assert kind.spec.batch_size == most


def test_error_rates_may_be_given() -> None:
    kind = kind_of(sprt={**SPRT, "alpha": 0.1, "beta": 0.02})
    assert isinstance(kind, SprtTest)
    assert (kind.spec.alpha, kind.spec.beta) == (0.1, 0.02)


def test_a_tune_reads_its_parameter_lines() -> None:
    assert tune_of().tune.thetas == (10.0, 5.0)


@pytest.mark.parametrize(("given", "pairs"), [(0.1, 3000), (3000, 3000), (2999, 2999), (0, 0)])
def test_stability_is_a_number_of_pairs_or_a_share_of_them(given: float, pairs: int) -> None:
    assert tune_of(A=given).tune.schedule.stability == pairs


def test_both_sides_of_a_tune_have_the_signature_of_the_new_one() -> None:
    new, base = plan_of(spsa={"raw_params": LINES}).sides
    assert base.signature == new.signature == "2050811"
