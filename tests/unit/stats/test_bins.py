"""Counted results."""

import pytest

from rookery.stats.numbers import StatisticsFault, games_in, moments, regularised


def test_an_empty_bin_counts_as_a_thousandth() -> None:
    assert regularised((0, 2, 0)) == [0.001, 2.0, 0.001]


def test_the_mean_of_pairs_is_their_score() -> None:
    assert moments((1, 1, 1, 1, 1)).mean == pytest.approx(0.5)


def test_the_variance_is_that_of_one_sample() -> None:
    assert moments((1, 1, 1, 1, 1)).variance == pytest.approx(0.125)


def test_a_pair_holds_two_games() -> None:
    assert games_in((1, 2, 3, 4, 5)) == 30
    assert games_in((1, 2, 3)) == 6


def test_pairs_as_independent_games_would_spread_alike() -> None:
    singles, pairs = moments((25, 50, 25)), moments((625, 2500, 3750, 2500, 625))
    assert pairs.sigma_per_game == pytest.approx(singles.sigma_per_game)


@pytest.mark.parametrize("bins", [(), (1,), (1, 2, 3, 4), (1, 2, 3, 4, 5, 6)])
def test_other_numbers_of_bins_are_refused(bins: tuple[int, ...]) -> None:
    with pytest.raises(StatisticsFault, match="3 counts"):
        moments(bins)


def test_negative_counts_are_refused() -> None:
    with pytest.raises(StatisticsFault, match="3 counts"):
        moments((1, -1, 1))
