"""The Elo scales."""

import pytest

from rookery.stats.numbers import NELO_PER_SIGMA, elo_of, score_of


def test_an_even_score_is_no_elo() -> None:
    assert elo_of(0.5) == 0.0
    assert score_of(0.0) == 0.5


@pytest.mark.parametrize("elo", [-400.0, -1.5, 3.0, 191.0])
def test_score_and_elo_undo_each_other(elo: float) -> None:
    assert elo_of(score_of(elo)) == pytest.approx(elo)


def test_four_hundred_elo_are_ten_to_one() -> None:
    assert score_of(400.0) == pytest.approx(10 / 11)


def test_lopsided_scores_stop_at_the_end_of_the_scale() -> None:
    assert elo_of(1.0) == elo_of(0.9999) == pytest.approx(1199.826195, abs=1e-6)


def test_absurd_elo_does_not_overflow() -> None:
    assert 0.0 < score_of(-1e300) < score_of(1e300) < 1.0


def test_a_sigma_of_normalised_elo_is_the_known_constant() -> None:
    assert pytest.approx(347.4356, abs=1e-4) == NELO_PER_SIGMA
