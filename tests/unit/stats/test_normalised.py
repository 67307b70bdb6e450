"""Normalised Elo and what pairing is worth."""

from math import isfinite

import pytest
from hypothesis import given

from rookery.stats.likelihood import normalised_elo, pairing_gain
from tests.unit.stats.strategies import PROPERTY, any_bins
from tests.unit.stats.vectors import P_GAMES, P


def test_an_even_score_has_no_normalised_elo() -> None:
    assert normalised_elo((10, 20, 30, 20, 10)).nelo == pytest.approx(0.0)


def test_near_zero_the_interval_depends_on_games_alone() -> None:
    """Two sigmas of 10,000 games are 1.96 * 347.4356 / 100."""
    assert normalised_elo((1, 1000, 2998, 1000, 1)).half_width == pytest.approx(6.8096, abs=1e-3)
    assert normalised_elo((600, 1500, 800, 1500, 600)).half_width == pytest.approx(6.8096, abs=1e-3)


def test_for_a_sigma_of_one_half_both_scales_agree_on_small_elo() -> None:
    assert normalised_elo((4990, 0, 5010)).nelo == pytest.approx(0.69487, abs=1e-4)


def test_pairing_that_changes_nothing_gains_nothing() -> None:
    gain = pairing_gain((2500, 5000, 2500), (6250, 25000, 37500, 25000, 6250))
    assert gain.games_saved == pytest.approx(0.0, abs=1e-9)


def test_pairs_that_cancel_the_opening_save_games() -> None:
    assert pairing_gain(P_GAMES, P).games_saved == pytest.approx(0.0575, abs=1e-3)


@PROPERTY
@given(bins=any_bins)
def test_whatever_the_results_normalised_elo_is_finite(bins: tuple[int, ...]) -> None:
    found = normalised_elo(bins)
    assert isfinite(found.nelo)
    assert isfinite(found.half_width)
