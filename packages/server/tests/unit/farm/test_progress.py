"""Accepted commits in the order of their branch, chained; and direct matches beside them."""

from dataclasses import replace
from typing import Any

import pytest
from msgspec.structs import replace as with_fields

from rookery.core.model.kinds import SprtTest
from rookery.core.model.run import Run
from rookery.core.model.task import Results
from rookery.core.stats.sprt import Verdict
from rookery.server.farm.rules.progress import (
    BranchCommit,
    CommitTest,
    MeasuredElo,
    chain_progress,
    list_unplaced,
    summarise_test,
    time_class_of,
)
from tests.makers import make_plan, make_run, make_side, sprt

BRANCH = [
    BranchCommit(sha, place, 1000 * place, f"Commit {sha}") for place, sha in enumerate("abcde")
]


def tries(new: str, elo: float = 2.0, error: float = 3.0, **fields: Any) -> CommitTest:
    given = {"passed": True, "sequential": True, "time_class": "STC", "games": 1000, **fields}
    return CommitTest(
        run=f"run-{new}", name=new, new=new, base="a", measured=MeasuredElo(elo, error),
        core_hours=10.0, **given,
    )  # fmt: skip


def test_elo_adds_up_along_the_branch_and_errors_by_their_squares() -> None:
    tests = [
        tries("d", 1.0, 4.0),
        tries("b", 2.0, 3.0),
        tries("c", passed=False),
        tries("x"),
    ]
    found = chain_progress(BRANCH, tests)
    assert [each.commit.sha for each in found.accepted] == ["b", "d"]
    assert found.accepted[-1].chained == {"STC": MeasuredElo(3.0, 5.0)}
    assert found.hours == {"STC": 40.0}
    assert found.hours_per_elo("STC") == pytest.approx(40 / 3)
    assert found.hours_per_elo("LTC") is None


def test_each_time_class_has_a_chain_of_its_own() -> None:
    found = chain_progress(BRANCH, [tries("b"), tries("b", 1.0, time_class="LTC"), tries("c")])
    assert found.accepted[0].chained == {
        "STC": MeasuredElo(2.0, 3.0),
        "LTC": MeasuredElo(1.0, 3.0),
    }
    assert found.accepted[1].chained["LTC"] == MeasuredElo(1.0, 3.0)


def test_of_two_tests_of_one_commit_the_longer_counts() -> None:
    found = chain_progress(BRANCH, [tries("b", 9.0, games=5000), tries("b", 1.0, games=100)])
    assert found.accepted[0].measured["STC"].elo == 9.0


def test_a_match_between_two_commits_has_the_chain_between_them_beside_it() -> None:
    match = with_fields(tries("d", 5.0, 1.0), sequential=False, passed=False, base="b")
    found = chain_progress(BRANCH, [tries("b"), tries("c", 1.0), tries("d", 1.0), match])
    (direct,) = found.direct
    assert (direct.measured.elo, direct.chained.elo) == (5.0, 2.0)
    assert (direct.commit.sha, direct.base.sha) == ("d", "b")


def test_a_squashed_commit_counts_where_its_tree_or_the_name_of_its_run_is_in_the_branch() -> None:
    branch = [
        *BRANCH[:2],
        with_fields(BRANCH[2], tree="tree-y"),
        with_fields(BRANCH[3], runs=("run-z",)),
        with_fields(BRANCH[4], tree="tree-y", runs=("run-z", "run-w")),
    ]
    squashed = with_fields(tries("y"), tree="tree-y")
    tests = [squashed, tries("z"), tries("w", passed=False), tries("v")]
    found = chain_progress(branch, tests)
    assert [each.commit.sha for each in found.accepted] == ["c", "d"]
    assert [test.run for test in list_unplaced(branch, tests)] == ["run-v"]


def test_a_test_that_changed_nothing_is_not_accepted_by_the_tree_of_its_base() -> None:
    branch = [with_fields(BRANCH[0], tree="tree-a"), *BRANCH[1:]]
    assert not chain_progress(branch, [with_fields(tries("y"), tree="tree-a")]).accepted


def finished(pairs: tuple[int, int, int, int, int], **sides: Any) -> Run:
    idea = make_side("idea", **{"commit": "a" * 40} | sides)
    plan = make_plan(sides=(idea, make_side("master")))
    run = make_run("a", plan, sprt(1, 0, 2))
    results = Results(0, 0, 2 * sum(pairs), 0, 0, pairs)
    assert isinstance(run.kind, SprtTest)
    state = with_fields(run.kind.state, verdict=Verdict.ACCEPTED)
    return replace(
        run, kind=replace(run.kind, state=state), tally=replace(run.tally, results=results)
    )


def test_a_passed_run_says_what_it_measured() -> None:
    test = summarise_test(finished((10, 200, 500, 260, 30)), "Stockfish")
    assert test is not None
    assert test.passed
    assert test.measured.elo > 0
    assert test.time_class == "STC"


def test_a_run_of_a_program_of_another_engine_or_of_few_games_says_nothing() -> None:
    assert summarise_test(finished((1, 2, 3, 2, 1)), "Stockfish") is None
    assert summarise_test(finished((10, 200, 500, 260, 30), binary="a" * 64), "Stockfish") is None
    assert summarise_test(finished((10, 200, 500, 260, 30), engine="Tiny"), "Stockfish") is None


@pytest.mark.parametrize(
    "odds",
    [
        {"tc": "20+0.2"},
        {"threads": 2},
        {"options": "Hash=64"},
        {"uci": (("Analysis Contempt", "Off"),)},
        {"commit": make_side("master").commit},
    ],
    ids=lambda odds: next(iter(odds)),
)
def test_a_run_whose_sides_differ_in_more_than_commits_says_nothing(odds: dict[str, Any]) -> None:
    assert summarise_test(finished((10, 200, 500, 260, 30), **odds), "Stockfish") is None


@pytest.mark.parametrize(
    ("tc", "threads", "name"),
    [
        ("10+0.1", 1, "STC"),
        ("60+0.6", 1, "LTC"),
        ("180+1.8", 1, "VLTC"),
        ("5+0.05", 8, "STC SMP"),
        ("20+0.2", 8, "LTC SMP"),
        ("60+0.6", 8, "VLTC SMP"),
    ],
)
def test_presets_are_of_the_class_that_they_are_called_by(tc: str, threads: int, name: str) -> None:
    assert time_class_of(make_run("a", make_plan(tc=tc, threads=threads))) == name
