"""The head of a run's pages."""

from dataclasses import replace
from typing import Any

import pytest
from msgspec.structs import replace as with_fields

from rookery.core.model.kinds import SprtTest
from rookery.core.model.plan import Side
from rookery.core.model.run import Run
from rookery.core.model.task import Task
from rookery.server.farm.rules.diagnosis import RunDiagnosis, RunFinding
from rookery.server.show.heading import describe_earlier, describe_stage
from rookery.server.show.run_description import find_message, name_sides
from tests.makers import NOW, later, make_machine, make_plan, make_run, make_side, pairs, sprt, spsa

MASTER = make_side("master")


def against_master(new: Side) -> Run:
    return make_run(plan=make_plan(sides=(new, MASTER)))


@pytest.mark.parametrize(
    ("fields", "names"),
    [
        ({"tag": "idea"}, ("idea", "master")),
        ({"engine": "Pawn"}, ("Pawn master", "Stockfish master")),
        ({"commit": "a" * 40}, ("master aaaaaaaaaa", "master 0000000000")),
        ({"options": "Hash=16 Contempt=1"}, ("master with Contempt=1", "master without")),
        ({"options": "Hash=32"}, ("master with Hash=32", "master with Hash=16")),
        ({"nets": ("nn-1.nnue",)}, ("master nn-1.nnue", "master")),
        ({"tc": "20+0.2"}, ("master at 20+0.2", "master at 10+0.1")),
        ({}, ("master", "itself")),
    ],
)
def test_the_title_tells_the_sides_apart(fields: dict[str, Any], names: tuple[str, str]) -> None:
    assert name_sides(against_master(with_fields(MASTER, **fields))) == names


def test_a_tune_has_one_side() -> None:
    assert name_sides(make_run(kind=spsa())) == ("idea", "")


def test_a_commit_message_that_is_the_info_is_shown_once() -> None:
    side = make_side(message="Prune more")
    plan = make_plan(sides=(side, MASTER), info="Prune more")
    assert find_message(make_run(plan=plan)) == ""
    other = make_run(plan=with_fields(plan, info="Second try"))
    assert find_message(other) == "Prune more"


def starting(nps: float, seconds: float) -> str:
    run = make_run(kind=sprt(batch=4), cores=4)
    task = Task(run.id, 0, 0, 64, make_machine(nps=nps), NOW, NOW)
    found = RunDiagnosis(RunFinding.STARTING, "machines have the run")
    stage = describe_stage(run, found, (task,), later(seconds))
    assert (stage.label.word, stage.reason) == ("starting", "")
    return stage.detail


def test_a_run_that_starts_says_when_to_expect_results() -> None:
    assert starting(nps=6e5, seconds=10) == "first results in about 52 s"
    assert starting(nps=6e5, seconds=900) == "first results any moment now"
    assert starting(nps=0, seconds=0).startswith("machines build the engines")


def test_a_run_at_play_is_never_called_idle() -> None:
    found = RunDiagnosis(RunFinding.STALLED, "nothing came in for 30 minutes")
    stage = describe_stage(replace(make_run(cores=4)), found, (), NOW)
    assert (stage.label.word, stage.reason) == ("stalled", "Nothing came in for 30 minutes.")


def test_a_run_that_plays_again_tells_of_its_next_results() -> None:
    run = make_run(kind=sprt(batch=4), cores=4)
    run = replace(run, tally=replace(run.tally, results=pairs(even=50)))
    task = Task(run.id, 0, 0, 64, make_machine(nps=1e6), NOW, NOW)
    found = RunDiagnosis(RunFinding.STARTING, "machines have new tasks")
    stage = describe_stage(run, found, (task,), later(1))
    assert (stage.label.word, stage.detail[:16]) == ("playing", "next results in ")


def test_a_longer_test_of_what_passed_confirms_it() -> None:
    short = make_run("a", make_plan(sides=(make_side(commit="a" * 40), MASTER)), sprt())
    assert isinstance(short.kind, SprtTest)
    passed = replace(short, kind=short.kind.rejudged(pairs(even=9, ww=800)))
    longer = replace(short, plan=with_fields(short.plan, tc="60+0.6"))
    assert describe_earlier(longer, passed) == "confirms idea at 10 s + 0.1 s"
    assert describe_earlier(longer, short) == "again after idea"
    assert describe_earlier(short, passed) == "again after idea"
