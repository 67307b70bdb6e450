"""Runs of fixed length."""

import pytest

from rookery.model.kinds import Fixed, Report
from rookery.model.task import NOTHING, Results
from rookery.stats.sprt import Flag
from tests.makers import counts, pairs


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        (pairs(ww=50, even=50), Flag.GREEN),
        (pairs(even=100), Flag.NONE),
        (pairs(ll=50, even=50), Flag.NONE),
    ],
)
def test_the_flag_is_green_when_superiority_is_likely(results: Results, expected: Flag) -> None:
    assert Fixed().flag(results) is expected


def test_the_last_game_decides() -> None:
    assert Fixed().is_decided(pairs(even=50), 100)
    assert not Fixed().is_decided(pairs(even=49), 100)
    assert Fixed().games_left(pairs(even=49), 100) == 2


def test_reports_come_in_pairs_and_change_nothing_but_the_sums() -> None:
    kind, report = Fixed(), Report(pairs(even=1))
    assert kind.folded(report.results, "ticket", report).ticket == "ticket"
    assert kind.rejudged(NOTHING) is kind
    assert (kind.name, kind.step, kind.bonus) == ("fixed", 2, 0)
    odd = Report(counts(wins=1))
    assert kind.objection(NOTHING, odd) == "the number of games is not a multiple of 2"
