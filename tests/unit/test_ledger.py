"""The ledger of the simulated fleet notices what it is there to notice."""

import pytest

from rookery.core.results import Results
from tests.fleet.ledger import Key, Ledger
from tests.unit.core.makers import pairs

KEY: Key = ("a" * 24, 0)


@pytest.fixture
def ledger() -> Ledger:
    kept = Ledger()
    kept.give(KEY, 0, 100)
    kept.send(KEY, pairs(even=1))
    kept.hear(KEY, pairs(even=1))
    kept.send(KEY, pairs(even=2))
    return kept


@pytest.mark.parametrize("found", [pairs(even=1), pairs(even=2)])
def test_an_unanswered_report_may_be_counted_or_not(ledger: Ledger, found: Results) -> None:
    assert ledger.check({KEY: found}) == []


@pytest.mark.parametrize("found", [Results(), pairs(even=3), pairs(ww=1)])
def test_lost_doubled_and_altered_games_are_noticed(ledger: Ledger, found: Results) -> None:
    assert len(ledger.check({KEY: found})) == 1


def test_an_acknowledged_report_must_be_counted(ledger: Ledger) -> None:
    ledger.hear(KEY, pairs(even=2))
    assert len(ledger.check({KEY: pairs(even=1)})) == 1


def test_a_task_that_is_given_twice_or_missing_is_noticed(ledger: Ledger) -> None:
    ledger.give(KEY, 0, 100)
    assert len(ledger.check({})) == 2


def test_games_of_unknown_tasks_are_noticed(ledger: Ledger) -> None:
    found = {KEY: pairs(even=1), (KEY[0], 1): pairs(even=1)}
    assert len(ledger.check(found)) == 1
