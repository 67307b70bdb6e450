"""Invented histories agree with the rules that real ones are made by."""

from random import Random

import pytest

from rookery.farm.seeding import FarmSeed, SeedSize, invent_users
from rookery.model.kinds import SprtTest
from rookery.model.run import DisplayState
from rookery.model.task import contradiction, total
from rookery.rules.answers import Changes
from rookery.stats.sprt import Verdict
from tests.makers import NOW

SIZE = SeedSize(runs=14, machines=40, history=25)


@pytest.fixture(scope="module", name="history")
def _history() -> list[Changes]:
    return list(FarmSeed(Random(1), NOW, SIZE).invent_runs())


def test_as_many_runs_are_invented_as_were_asked_for(history: list[Changes]) -> None:
    over = [each.runs[0] for each in history if each.runs[0].status.finished]
    assert (len(history), len(over)) == (39, 25)


def test_a_runs_results_are_the_sum_of_its_tasks(history: list[Changes]) -> None:
    for changes in history:
        run = changes.runs[0]
        assert total(task.results for task in changes.tasks) == run.tally.results
        assert contradiction(run.tally.results) is None


def test_a_run_is_playing_exactly_where_machines_have_tasks(history: list[Changes]) -> None:
    for changes in history:
        run, active = changes.runs[0], [task for task in changes.tasks if task.active]
        assert run.tally.workers == len(active)
        assert (run.display is DisplayState.ACTIVE) == bool(active)


def test_no_run_that_plays_is_decided(history: list[Changes]) -> None:
    playing = [each.runs[0] for each in history if not each.runs[0].status.finished]
    tests = [run.kind for run in playing if isinstance(run.kind, SprtTest)]
    assert tests
    assert {test.state.verdict for test in tests} == {Verdict.RUNNING}


def test_the_same_number_gives_the_same_history(history: list[Changes]) -> None:
    assert list(FarmSeed(Random(1), NOW, SIZE).invent_runs()) == history


def test_some_accounts_wait_for_approval() -> None:
    waiting = {user.name for user in invent_users(NOW, "") if user.pending}
    assert waiting == {"celia", "dimas"}
