"""Rows that were read while workers go on: what a ledger allows in them, and what it does not."""

from rookery.core.model.task import NOTHING, Results
from tests.fleet.ledger import Key, Ledger
from tests.fleet.moments import Acknowledged, FarmRows, Sent, TaskRow, find_wrong
from tests.makers import pairs

KEY = ("a" * 24, 0)
ONE, TWO, THREE = pairs(ww=1), pairs(ww=2), pairs(ww=3)


def ledger_of(*reports: Results, heard: Results = NOTHING) -> Ledger:
    ledger = Ledger()
    ledger.give(KEY, 0, 100)
    for each in reports:
        ledger.send(KEY, each)
    if heard.games:
        ledger.hear(KEY, heard)
    return ledger


def rows_of(found: dict[Key, Results], *wrong_sums: str, struck: bool = False) -> FarmRows:
    return FarmRows({key: TaskRow(each, struck) for key, each in found.items()}, wrong_sums)


def judge(ledger: Ledger, rows: FarmRows) -> list[str]:
    return find_wrong(rows, Acknowledged.of(ledger), Sent.of(ledger), ledger)


def test_rows_may_hold_what_was_acknowledged_or_sent_since() -> None:
    ledger = ledger_of(ONE, TWO, heard=ONE)
    assert judge(ledger, rows_of({KEY: ONE})) == []
    assert judge(ledger, rows_of({KEY: TWO})) == []


def test_rows_that_lack_what_was_acknowledged_are_wrong() -> None:
    ledger = ledger_of(ONE, TWO, heard=TWO)
    assert len(judge(ledger, rows_of({KEY: ONE}))) == 1
    assert judge(ledger, rows_of({})) == [f"{KEY} is not there"]


def test_rows_may_not_hold_what_was_sent_after_they_were_read() -> None:
    ledger = ledger_of(ONE, heard=ONE)
    before, sent = Acknowledged.of(ledger), Sent.of(ledger)
    ledger.send(KEY, THREE)
    assert len(find_wrong(rows_of({KEY: THREE}), before, sent, ledger)) == 1


def test_a_task_that_its_worker_has_not_heard_of_holds_nothing() -> None:
    unheard = (KEY[0], 1)
    assert judge(ledger_of(), rows_of({KEY: NOTHING, unheard: NOTHING})) == []
    assert len(judge(ledger_of(), rows_of({KEY: NOTHING, unheard: ONE}))) == 1


def test_only_tasks_of_runs_that_people_purge_may_be_struck_out() -> None:
    ledger = ledger_of(ONE, heard=ONE)
    assert len(judge(ledger, rows_of({KEY: NOTHING}, struck=True))) == 1
    ledger.purged.add(KEY[0])
    assert judge(ledger, rows_of({KEY: NOTHING}, struck=True)) == []


def test_sums_that_are_not_those_of_their_tasks_are_told() -> None:
    ledger = ledger_of(ONE, heard=ONE)
    assert len(judge(ledger, rows_of({KEY: ONE}, KEY[0]))) == 1
