"""Elo of a fixed number of games."""

from math import isfinite

import pytest
from hypothesis import given

from rookery.stats.elo import estimate_elo
from tests.unit.stats.strategies import PROPERTY, any_bins
from tests.unit.stats.vectors import P_GAMES, P


@pytest.mark.parametrize(
    ("bins", "known"),
    [
        (P, (-0.7735773359, 1.2775798957, 0.1176588580)),
        (P_GAMES, (-0.7698390909, 1.3137428409, 0.1253755527)),
    ],
)
def test_known_results_give_the_known_elo(
    bins: tuple[int, ...], known: tuple[float, float, float]
) -> None:
    found = estimate_elo(bins)
    assert (found.elo, found.half_width, found.los) == pytest.approx(known, abs=1e-9)


def test_no_results_give_no_elo_and_the_widest_interval() -> None:
    found = estimate_elo((0, 0, 0, 0, 0))
    assert (found.elo, found.half_width, found.los) == pytest.approx(
        (0, 1199.826195, 0.5), abs=1e-6
    )


def test_the_interval_lies_around_the_elo() -> None:
    found = estimate_elo((10, 50, 120, 70, 14))
    assert found.high - found.elo == pytest.approx(found.elo - found.low)


def test_mirrored_results_mirror_everything() -> None:
    there, back = estimate_elo((10, 50, 120, 70, 14)), estimate_elo((14, 70, 120, 50, 10))
    assert (back.elo, back.low, back.los) == pytest.approx((-there.elo, -there.high, 1 - there.los))


@PROPERTY
@given(bins=any_bins)
def test_whatever_the_results_the_answer_is_finite(bins: tuple[int, ...]) -> None:
    found = estimate_elo(bins)
    assert all(map(isfinite, (found.elo, found.half_width, found.los)))
    assert 0.0 <= found.los <= 1.0
