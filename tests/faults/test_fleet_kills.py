"""kill -9 of the primary and of PostgreSQL while workers report: what was acknowledged is in the
rows, and nothing is there twice."""

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.faults.processes import Spoken, backends_of, kill, wait_until_gone
from tests.forks import PYTHON

WRITER = (*PYTHON, "tests.faults.fleet_writer")
Ledger = dict[str, int]


class Primary(Spoken):
    """A process with workers that report without a pause."""

    def __init__(self, data: Path, *fault: object) -> None:
        self.data = data
        super().__init__([*WRITER, str(data), *map(str, fault)])

    def __exit__(self, *_: object) -> None:
        self.end()
        wait_until_gone(self.data)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder that goes from kill to kill, as it would in the world."""
    return tmp_path_factory.mktemp("fleet") / "the data"


def acknowledged(said: Iterable[dict[str, Any]]) -> Ledger:
    return {each["task"]: each["games"] for each in said if each["event"] == "kept"}


def until_kept(primary: Primary, number: int) -> list[dict[str, Any]]:
    said: list[dict[str, Any]] = []
    while len(acknowledged(said)) < number:
        said.append(primary.next())
        assert said[-1], primary.facts
    return said


def check(resumed: dict[str, Any], ledger: Ledger) -> None:
    """Each report has two games more than the one before, and each worker waits for its answer: so
    a row holds what was acknowledged, or one report more."""
    rows: Ledger = resumed["rows"]
    for task, games in ledger.items():
        assert rows[task] - games in (0, 2), task
    assert sum(games for games, _ in resumed["sums"]) == sum(rows.values())
    assert resumed["corrections"] == 0


def rows_after_restart(data: Path) -> dict[str, Any]:
    with Primary(data) as again:
        return again.until("resumed")


@pytest.mark.parametrize("moment", ["round_taken", "write_before_commit", "write_after_commit"])
def test_a_primary_that_dies_at_a_bad_moment_loses_nothing_it_acknowledged(
    data: Path, moment: str
) -> None:
    with Primary(data, moment, 40) as primary:
        said = primary.rest()
        assert primary.process.wait(60) == -9
    ledger = acknowledged(said)
    assert ledger
    check(rows_after_restart(data), ledger)


def test_what_was_committed_and_not_acknowledged_is_there_once(data: Path) -> None:
    with Primary(data, "write_after_commit", 40) as primary:
        ledger = acknowledged(primary.rest())
    found = rows_after_restart(data)
    check(found, ledger)
    assert sum(found["rows"].values()) > sum(ledger.values())


def test_what_was_not_committed_was_not_acknowledged(data: Path) -> None:
    with Primary(data, "write_before_commit", 40) as primary:
        ledger = acknowledged(primary.rest())
    found = rows_after_restart(data)
    check(found, ledger)
    assert found["rows"] == {**found["rows"], **ledger}


def test_a_primary_that_is_killed_at_any_time_loses_nothing_it_acknowledged(data: Path) -> None:
    with Primary(data) as primary:
        said = until_kept(primary, 10)
        primary.process.kill()
        said += primary.rest()
    check(rows_after_restart(data), acknowledged(said))


@pytest.mark.parametrize("victim", ["postmaster", "backend"])
def test_a_primary_goes_on_by_itself_when_postgres_is_killed(data: Path, victim: str) -> None:
    with Primary(data) as primary:
        said = until_kept(primary, 10)
        postmaster = primary.facts["postmaster"]
        kill(postmaster if victim == "postmaster" else backends_of(postmaster)[0])
        while said[-1]["event"] != "resumed":
            said.append(primary.next())
        check(said[-1], acknowledged(said))
        said += until_kept(primary, 10)
        assert primary.stop() == 0
    assert "interrupted" in {each["event"] for each in said}


def test_nothing_is_lost_by_an_orderly_stop(data: Path) -> None:
    with Primary(data) as primary:
        said = until_kept(primary, 10)
        time.sleep(0.1)
        assert primary.process.stdin is not None
        primary.process.stdin.close()
        said += primary.rest()
        assert primary.process.wait(60) == 0
    check(rows_after_restart(data), acknowledged(said))
