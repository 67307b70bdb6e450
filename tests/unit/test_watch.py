"""What `rookery watch` shows of a run, and the exit code that its end has."""

from dataclasses import replace

import pytest
from msgspec.structs import replace as with_fields

from rookery.cli.commands.watch import WatchedRun, rows, title, verdict_code, verdict_text
from rookery.core.model.kinds import Kind, SprtTest
from rookery.core.model.run import Run
from rookery.core.protocol import v1
from rookery.core.stats.sprt import SprtState, Verdict
from rookery.server.farm.views import NO_SPEED, RunSpeed
from rookery.server.runs.api import make_details
from tests.makers import make_plan, make_run, pairs, sprt, spsa

RESULTS = pairs(ll=5, ld=100, even=300, wd=140, ww=10)


def played(kind: Kind, *, finished: bool = False, failed: bool = False) -> Run:
    plan = with_fields(make_plan(), info="one\ntwo\x1b[2J")
    run = make_run("a", plan, kind)
    status = replace(run.status, finished=finished, failed=failed)
    return replace(run, tally=replace(run.tally, results=RESULTS), status=status)


def decided(verdict: Verdict) -> Run:
    test = sprt()
    return played(SprtTest(test.spec, SprtState(2.0, verdict)), finished=True)


def shown(run: Run, speed: RunSpeed = NO_SPEED) -> v1.RunDetails:
    return make_details(run, speed)


def test_a_sequential_test_shows_its_ratio_and_how_long_it_may_take() -> None:
    test = sprt(elo0=0.0, elo1=2.0)
    run = played(replace(test, state=SprtState(1.5)))
    found = dict(rows(WatchedRun(shown(run, RunSpeed(games_per_minute=60.0)))))
    assert found["Games"].startswith("1110 of ")
    assert found["Pairs"] == "LL 5, LD 100, even 300, WD 140, WW 10"
    assert found["LLR"].startswith("+1.500 in (-2.94, 2.94) █")
    assert "(95 %)" in found["Elo"]
    assert found["Speed"] == "60.0 games a minute"
    assert "passes with" in found["Left"] or "too early to say how it ends" in found["Left"]


def test_a_ratio_beyond_a_bound_says_so() -> None:
    run = played(replace(sprt(), state=SprtState(25.66)))
    assert dict(rows(WatchedRun(shown(run))))["LLR"].startswith("+25.660 beyond 2.94 █")


def test_a_run_of_fixed_length_shows_what_is_left_at_the_speed_that_was_seen() -> None:
    run = played(make_run("a").kind)
    left = run.plan.games - RESULTS.games
    found = dict(rows(WatchedRun(shown(run), games_per_minute=float(left))))
    assert found["Left"] == "1 min 00 s"
    assert "LLR" not in found


def test_a_tune_has_no_pairs_and_no_elo() -> None:
    found = dict(rows(WatchedRun(shown(played(spsa())))))
    assert not {"Pairs", "Elo", "LLR"} & found.keys()


def test_a_run_that_is_over_has_no_speed() -> None:
    found = dict(rows(WatchedRun(shown(decided(Verdict.ACCEPTED)))))
    assert not {"Speed", "Left"} & found.keys()


def test_strangers_words_do_not_steer_the_terminal() -> None:
    run = played(make_run("a").kind)
    assert dict(rows(WatchedRun(shown(run))))["About"] == "one"
    odd = replace(run, plan=with_fields(run.plan, info="\x1b]0;x\x07"))
    assert dict(rows(WatchedRun(shown(odd))))["About"] == "·]0;x·"
    assert "\x1b" not in title(shown(odd))


@pytest.mark.parametrize(
    ("run", "code", "text"),
    [
        (decided(Verdict.ACCEPTED), 0, "The run is finished: accepted."),
        (decided(Verdict.REJECTED), 1, "The run is finished: rejected."),
        (decided(Verdict.RUNNING), 4, "The run is finished: undecided."),
        (played(make_run("a").kind, finished=True), 0, "The run is finished."),
        (played(sprt(), finished=True, failed=True), 4, "The run failed."),
    ],
)
def test_the_exit_code_is_the_verdict(run: Run, code: int, text: str) -> None:
    assert (verdict_code(shown(run)), verdict_text(shown(run))) == (code, text)
