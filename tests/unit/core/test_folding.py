"""Reports are news, repeats, late or refused."""

from dataclasses import replace

import pytest

from rookery.core.folding import Judgement, Weight, is_too_fast, judge
from rookery.core.kinds import Report
from rookery.core.results import Results
from rookery.core.task import Task
from tests.unit.core.makers import NOW, later, make_machine, make_run, pairs, sprt

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
    assert weight(Results()) is Weight.LATE


@pytest.mark.parametrize(
    ("results", "sentence"),
    [
        (TASK.results + pairs(ww=6), "more games than the task has"),
        (TASK.results + pairs(ww=1), "the number of games is not a multiple of 4"),
        (pairs(even=4), "results reported before have changed"),
        (pairs(even=6), "results reported before have changed"),
        (pairs(ww=2), "results reported before have changed"),
        (replace(TASK.results, wins=5, draws=2), "wins minus losses differs"),
        (TASK.results + Results(wins=2, losses=2), "twice the number of pairs"),
    ],
)
def test_what_cannot_be_true_is_refused(results: Results, sentence: str) -> None:
    assert weight(results) is Weight.REFUSED
    assert sentence in judgement(results).why


def test_the_number_of_cores_stays() -> None:
    refused = judgement(TASK.results, cores=5)
    assert refused.why == "the number of cores changed during the task"


def test_crashes_may_be_counted_later_than_their_games() -> None:
    assert weight(TASK.results + Results(crashes=1)) is Weight.NEWS


def test_games_faster_than_possible_are_noticed() -> None:
    full = replace(TASK, results=pairs(even=8))
    assert is_too_fast(RUN, full, later(5))
    assert not is_too_fast(RUN, full, later(60))
    assert not is_too_fast(RUN, replace(TASK, results=pairs(even=3)), later(0))
    slow = replace(full, machine=replace(full.machine, nps=62_800.0))
    assert is_too_fast(RUN, slow, later(60))
