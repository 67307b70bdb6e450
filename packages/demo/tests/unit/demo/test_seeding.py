"""Invented histories agree with the rules that real ones are made by."""

import re
from collections import Counter
from random import Random

import pytest

from rookery.core.model.events import Action
from rookery.core.model.kinds import SprtTest
from rookery.core.model.presets import read_preset
from rookery.core.model.run import DisplayState, games_per_minute
from rookery.core.model.task import contradiction, total
from rookery.core.stats.sprt import Flag, Verdict
from rookery.demo.seeding import FarmSeed, SeedSize
from rookery.demo.seeding_notes import invent_review
from rookery.demo.seeding_people import invent_engines, invent_users
from rookery.server.farm.rules.answers import Changes
from rookery.server.farm.rules.progress import BranchCommit, chain_progress, summarise_test
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


def test_machines_play_what_they_have_the_cores_for(history: list[Changes]) -> None:
    for changes in history:
        threads = changes.runs[0].plan.threads
        assert all(task.machine.cores >= threads for task in changes.tasks if task.active)


def test_a_run_is_playing_exactly_where_machines_have_tasks(history: list[Changes]) -> None:
    for changes in history:
        run, active = changes.runs[0], [task for task in changes.tasks if task.active]
        assert run.tally.workers == len(active)
        assert (run.display is DisplayState.ACTIVE) == bool(active)


def test_a_run_plays_as_fast_as_its_machines_can(history: list[Changes]) -> None:
    for changes in history:
        run, active = changes.runs[0], [task for task in changes.tasks if task.active]
        if not active or len(changes.samples) < 3:
            continue
        first, last = changes.samples[0], changes.samples[-1]
        minutes = (last.at - first.at).total_seconds() / 60
        pace = (last.games - first.games) / minutes
        assert pace == pytest.approx(games_per_minute(run, active), rel=0.25)
        assert NOW - last.at < 2 * (last.at - first.at)


def test_no_run_that_plays_is_decided(history: list[Changes]) -> None:
    playing = [each.runs[0] for each in history if not each.runs[0].status.finished]
    tests = [run.kind for run in playing if isinstance(run.kind, SprtTest)]
    assert tests
    assert {test.state.verdict for test in tests} == {Verdict.RUNNING}


def test_the_ratio_of_a_run_that_plays_is_that_of_its_results(history: list[Changes]) -> None:
    for run in (each.runs[0] for each in history if each.tasks):
        if isinstance(run.kind, SprtTest) and not run.status.finished:
            state = run.kind.rejudged(run.tally.results).state
            assert state.llr == pytest.approx(run.kind.state.llr, abs=0.5)


def test_the_same_number_gives_the_same_history(history: list[Changes]) -> None:
    assert list(FarmSeed(Random(1), NOW, SIZE).invent_runs()) == history


def test_a_side_names_the_bench_of_its_message(history: list[Changes]) -> None:
    for changes in history:
        for side in changes.runs[0].plan.sides:
            assert side.message.endswith(f"Bench: {side.signature}")


def test_a_test_that_passed_is_the_base_of_a_later_one(history: list[Changes]) -> None:
    runs = [changes.runs[0] for changes in history]
    passed = [
        run.plan.new.commit
        for run in runs
        if isinstance(run.kind, SprtTest) and run.kind.state.verdict is Verdict.ACCEPTED
    ]
    assert passed
    assert {run.plan.base.commit for run in runs} & {*passed}


def test_an_engines_progress_is_measured_directly_too() -> None:
    farm = FarmSeed(Random(1), NOW, SeedSize(runs=0, machines=10, history=120))
    runs = [changes.runs[0] for changes in farm.invent_runs()]
    branch = [
        BranchCommit(side.commit, place, 0, "")
        for place, side in enumerate(farm.branches["Stockfish"])
    ]
    tests = [test for run in runs if (test := summarise_test(run, "Stockfish"))]
    assert chain_progress(branch, tests).direct


def test_results_of_machines_that_crashed_are_purged() -> None:
    farm = FarmSeed(Random(3), NOW, SeedSize(runs=0, machines=10, history=12))
    purged = [changes for changes in farm.invent_runs() if changes.bad]
    assert purged
    for changes in purged:
        left = {task.id: task for task in changes.tasks}
        assert all(left[each.task.id].bad for each in changes.bad)
        assert total(task.results for task in changes.tasks) == changes.runs[0].tally.results


def test_most_tests_come_to_a_verdict_and_some_fail_with_more_wins_than_losses() -> None:
    farm = FarmSeed(Random(1), NOW, SeedSize(runs=0, machines=10, history=150))
    runs = [changes.runs[0] for changes in farm.invent_runs()]
    tests = [run for run in runs if isinstance(run.kind, SprtTest)]
    assert sum(run.decided for run in tests) > 0.7 * len(tests)
    assert {run.status.flag for run in tests} == {*Flag}


def test_nobody_plays_with_more_machines_than_they_may_have() -> None:
    limits = {user.name: user.machine_limit for user in invent_users(NOW, "")}
    farm = FarmSeed(Random(1), NOW, SeedSize(runs=0, machines=10_000, history=0))
    machines = Counter(machine.user for machine in farm.players)
    assert all(count <= limits[name] for name, count in machines.items())
    assert not any(user.blocked for user in invent_users(NOW, "") if user.name in machines)


def test_machines_are_blocked_for_a_reason_and_play_no_more() -> None:
    farm = FarmSeed(Random(1), NOW, SIZE)
    blocked = {block.short_name for block in farm.invent_blocks().blocks if block.message}
    playing = {
        task.machine.short_name
        for changes in farm.invent_runs()
        for task in changes.tasks
        if task.active
    }
    assert blocked
    assert not blocked & playing


def test_some_failures_of_a_run_say_the_same_but_for_numbers(history: list[Changes]) -> None:
    groups = Counter(
        (event.run, re.sub("[0-9]+", "0", event.message or ""))
        for changes in history
        for event in changes.events
        if event.action == Action.FAILED_TASK
    )
    assert max(groups.values()) > 2


def test_failures_are_those_of_tasks_that_there_are(history: list[Changes]) -> None:
    for changes in history:
        tasks = {task.id for task in changes.tasks}
        failed = {event.task for event in changes.events if event.task is not None}
        assert failed <= tasks


def test_what_was_read_in_sources_is_the_same_each_time(history: list[Changes]) -> None:
    runs = [changes.runs[0] for changes in history]
    reviews = [invent_review(run) for run in runs]
    assert reviews == [invent_review(run) for run in runs]
    assert any(review.sources and review.sources.trouble for review in reviews)


def test_presets_have_the_bounds_of_a_test() -> None:
    presets = [preset for record in invent_engines() for preset in record.presets]
    assert all(isinstance(read_preset(preset)["sprt"], dict) for preset in presets)


def test_some_accounts_wait_for_approval() -> None:
    waiting = {user.name for user in invent_users(NOW, "") if user.pending}
    assert waiting == {"celia", "dimas"}
