"""The ledger of the simulated fleet notices what it is there to notice."""

import pytest
from msgspec.structs import asdict

from rookery.core.model.task import NOTHING, Results
from rookery.core.stats.sprt import Sprt
from tests.fleet.ledger import Key, Ledger
from tests.fleet.replay import Counted, disagreements, replayed
from tests.makers import pairs

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


@pytest.mark.parametrize("found", [NOTHING, pairs(even=3), pairs(ww=1)])
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


def reports(ledger: Ledger, task: int, *sent: Results) -> None:
    key = (KEY[0], task)
    ledger.give(key, 0, 100)
    for results in sent:
        ledger.send(key, results)


def test_the_order_of_reports_shows_in_the_state_of_a_test() -> None:
    ledger = Ledger()
    reports(ledger, 0, pairs(ww=1), pairs(ww=2))
    reports(ledger, 1, pairs(ll=1), pairs(ll=1, even=1))
    spec = Sprt(0.0, 10.0)
    one = replayed([(0, 2), (1, 2), (0, 2), (1, 2)], KEY[0], spec, ledger).state
    other = replayed([(1, 2), (0, 2), (1, 2), (0, 2)], KEY[0], spec, ledger).state
    assert one.llr == other.llr
    assert one.overshoot != other.overshoot


@pytest.mark.parametrize(
    ("rows", "wrong"),
    [([(0, 2), (1, 2)], 0), ([(1, 2), (0, 2)], 1), ([(0, 2)], 2), ([(0, 4), (1, 2)], 2)],
)
def test_reports_that_were_lost_doubled_or_reordered_are_noticed(
    rows: list[Counted], wrong: int
) -> None:
    ledger = Ledger()
    reports(ledger, 0, pairs(ww=1), pairs(ww=2))
    reports(ledger, 1, pairs(ll=1))
    rules = {"elo0": 0.0, "elo1": 10.0, "alpha": 0.05, "beta": 0.05, "elo_model": "normalized"}
    state = replayed([(0, 2), (1, 2)], KEY[0], Sprt(0.0, 10.0), ledger).state
    assert state.overshoot
    stands = {"llr": state.llr, "state": "", "overshoot": asdict(state.overshoot)}
    document = {"args": {"sprt": rules | {"batch_size": 1} | stands}}
    assert len(disagreements(rows, KEY[0], document, ledger)) == wrong


def test_a_task_that_is_over_before_its_games_are_played_is_remembered(ledger: Ledger) -> None:
    ledger.end(KEY, pairs(even=50))
    assert not ledger.ended
    ledger.end(KEY, pairs(even=2))
    assert ledger.ended == {KEY}
