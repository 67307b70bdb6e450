"""Reports are news, repeats, late or refused."""

from dataclasses import replace

import msgspec
import pytest
from msgspec.structs import replace as with_fields

from rookery.core.model.kinds import Report
from rookery.core.model.run import Run
from rookery.core.model.task import NOTHING, Results, Task
from rookery.server.farm.rules.judgement import (
    Judgement,
    Weight,
    is_hasty,
    judge,
    least_game_seconds,
)
from rookery.server.farm.rules.observations import UNMEASURED
from tests.makers import (
    NOW,
    counts,
    later,
    make_machine,
    make_plan,
    make_run,
    pairs,
    sprt,
)

RUN = make_run(kind=sprt(batch=2))
TASK = Task(RUN.id, 0, 0, 16, make_machine(nps=628_000.0), NOW, NOW, pairs(ld=1, even=2, wd=1))


def judgement(results: Results, cores: int = 4) -> Judgement:
    return judge(RUN, TASK, Report(results), make_machine(cores=cores))


def weight(results: Results) -> Weight:
    return judgement(results).weight


def test_more_games_are_news() -> None:
    assert weight(TASK.results + pairs(ww=2)) is Weight.NEWS
    assert weight(TASK.results + pairs(ww=4)) is Weight.NEWS


def test_the_same_again_is_a_repeat() -> None:
    assert weight(TASK.results) is Weight.REPEAT


def test_an_earlier_report_is_late_and_harmless() -> None:
    assert weight(pairs(even=2)) is Weight.LATE
    assert weight(NOTHING) is Weight.LATE


@pytest.mark.parametrize(
    ("results", "sentence"),
    [
        (TASK.results + pairs(ww=6), "more games than the task has"),
        (TASK.results + pairs(ww=1), "the number of games is not a multiple of 4"),
        (pairs(even=4), "results reported before have changed"),
        (pairs(even=6), "results reported before have changed"),
        (pairs(ww=2), "results reported before have changed"),
        (msgspec.structs.replace(TASK.results, wins=5, draws=2), "wins minus losses differs"),
        (TASK.results + counts(wins=2, losses=2), "twice the number of pairs"),
    ],
)
def test_what_cannot_be_true_is_refused(results: Results, sentence: str) -> None:
    assert weight(results) is Weight.REFUSED
    assert sentence in judgement(results).why


def test_the_number_of_cores_stays() -> None:
    refused = judgement(TASK.results, cores=5)
    assert refused.why == "the number of cores changed during the task"


def test_crashes_may_be_counted_later_than_their_games() -> None:
    assert weight(TASK.results + counts(crashes=1)) is Weight.NEWS


def too_fast(games: int, seconds: float, run: Run = RUN, task: Task = TASK) -> bool:
    least = least_game_seconds(run, task.machine, UNMEASURED)
    return is_hasty(task, games, least, run.demands.slots(task.machine.cores), later(seconds))


def test_games_on_the_clock_take_a_tenth_of_their_expected_length_at_least() -> None:
    assert too_fast(16, 5)
    assert not too_fast(16, 60)


def test_a_machine_is_not_believed_to_be_any_number_of_times_as_fast() -> None:
    boastful = replace(TASK, machine=with_fields(TASK.machine, nps=1e15))
    assert too_fast(3712, 0.03, task=boastful)
    assert not too_fast(16, 60, task=boastful)


@pytest.mark.parametrize("tc", ["N=25000", "N=1", "D=1", "D=30"])
def test_thousands_of_games_in_a_moment_are_too_fast_at_any_time_control(tc: str) -> None:
    run = make_run(plan=make_plan(tc=tc))
    assert too_fast(3712, 0.03, run)
    assert not too_fast(3712, 600, run)


def test_games_at_fixed_depth_are_held_against_what_was_measured() -> None:
    run, pace = make_run(plan=make_plan(tc="D=12")), UNMEASURED.after(100, 500, 4)
    assert least_game_seconds(run, TASK.machine, pace) == pytest.approx(0.02 * 20)
