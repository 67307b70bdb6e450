"""Points of charts: how far apart they lie."""

import pytest

from rookery.server.farm.rules.observations import MOST_PLACES, chart_period, chart_place
from tests.makers import make_run
from tests.storage.farm.stores import make_sample


@pytest.mark.parametrize("games", [0, 2, 2047, 2048, 100_000, 3_200_000])
def test_there_are_never_more_places_than_fit(games: int) -> None:
    assert games // chart_period(games) < MOST_PLACES


def test_a_longer_run_keeps_every_other_place() -> None:
    assert chart_period(2047) == 8
    assert chart_period(2048) == 16


def test_points_of_one_period_share_a_place() -> None:
    assert [chart_place(make_sample(make_run(), games)) for games in (8, 14, 16)] == [8, 8, 16]
