"""The audit of a purge knows what may be struck out, and notices anything else."""

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from rookery.core.model.task import NOTHING, Results
from rookery.core.protocol import v1
from tests.fleet.audit import find_struck_wrongly
from tests.fleet.ledger import Ledger
from tests.makers import pairs

RUN = "a" * 24
NOW = datetime(2026, 3, 1, tzinfo=UTC)
USUAL = pairs(ld=20, even=60, wd=20)
CRASHED = replace(USUAL, crashes=4)
UNLIKE = pairs(ld=70, even=20, wd=10)


def listed(ledger: Ledger, number: int, worker: str, held: Results, *, bad: bool) -> v1.TaskEntry:
    """A task as the server shows it, of which the worker knows what it held before."""
    ledger.give((RUN, number), 200 * number, 200)
    ledger.send((RUN, number), held)
    ledger.hear((RUN, number), held)
    return v1.TaskEntry(
        run=RUN,
        id=number,
        worker=worker,
        user="olga",
        active=False,
        bad=bad,
        too_fast=False,
        start=200 * number,
        num_games=200,
        created=NOW,
        reported=NOW,
        results=NOTHING if bad else held,
    )


@pytest.mark.parametrize("held", [CRASHED, UNLIKE])
def test_tasks_that_crashed_or_the_one_worker_that_differs_may_go(held: Results) -> None:
    ledger = Ledger()
    tasks = [listed(ledger, number, f"w{number}", USUAL, bad=False) for number in range(3)]
    tasks.append(listed(ledger, 3, "w3", held, bad=True))
    assert find_struck_wrongly(tasks, ledger) == []


def test_a_task_like_the_others_may_not_go() -> None:
    ledger = Ledger()
    tasks = [listed(ledger, number, f"w{number}", USUAL, bad=number == 0) for number in range(3)]
    assert len(find_struck_wrongly(tasks, ledger)) == 1


def test_a_worker_that_differs_stays_where_tasks_crashed() -> None:
    ledger = Ledger()
    tasks = [listed(ledger, number, f"w{number}", USUAL, bad=False) for number in range(3)]
    tasks.append(listed(ledger, 3, "w3", UNLIKE, bad=True))
    tasks.append(listed(ledger, 4, "w4", CRASHED, bad=True))
    (wrong,) = find_struck_wrongly(tasks, ledger)
    assert wrong.startswith("task 3 was struck out for nothing")


def test_what_was_struck_out_holds_nothing() -> None:
    ledger = Ledger()
    task = replace(listed(ledger, 0, "w0", CRASHED, bad=True), results=CRASHED)
    assert len(find_struck_wrongly([task], ledger)) == 1
