"""Where a run stands, in a word and a tone."""

from dataclasses import replace
from typing import Any

import pytest

from rookery.core.model.kinds import Fixed, SprtTest
from rookery.core.model.run import Run, Status
from rookery.core.model.task import Results
from rookery.core.stats.sprt import Sprt, SprtState, Verdict
from rookery.server.farm.views import RunSpeed
from rookery.server.show.run_row import (
    ListedRun,
    Tone,
    describe_time_left,
    label_status,
    make_run_row,
)
from rookery.server.show.statistics import ShownElo
from tests.makers import NOW, make_plan, make_run, make_side, pairs, spsa
from tests.rendered import read_words, render

OVER = Status(approver="boris", finished=True)


def ended(verdict: Verdict, results: Results, elo0: float = 0.0, elo1: float = 2.0) -> Run:
    kind = SprtTest(Sprt(elo0, elo1), SprtState(verdict=verdict))
    run = make_run("a", kind=kind)
    return replace(run, status=OVER, tally=replace(run.tally, results=results))


@pytest.mark.parametrize(
    ("run", "word", "tone"),
    [
        (make_run(approved=False), "waits for approval", Tone.WAIT),
        (make_run(), "idle", Tone.IDLE),
        (make_run(cores=4), "playing", Tone.LIVE),
        (ended(Verdict.ACCEPTED, pairs(ww=9)), "passed", Tone.GREEN),
        (ended(Verdict.ACCEPTED, pairs(ww=9), -1.75, 0.25), "passed, no regression", Tone.BLUE),
        (ended(Verdict.REJECTED, pairs(ww=9, ll=1)), "failed, yet positive", Tone.YELLOW),
        (ended(Verdict.REJECTED, pairs(ll=9)), "failed", Tone.RED),
        (ended(Verdict.RUNNING, pairs(ll=9)), "stopped", Tone.IDLE),
        (replace(make_run(), status=replace(OVER, failed=True)), "stopped by an error", Tone.RED),
        (replace(make_run(), status=replace(OVER, deleted=True)), "deleted", Tone.IDLE),
    ],
)
def test_a_run_has_a_word_and_a_tone(run: Run, word: str, tone: Tone) -> None:
    status = label_status(run)
    assert (status.word, status.tone) == (word, tone)
    assert status.sign


def test_a_fixed_number_of_games_is_judged_by_its_likelihood() -> None:
    run = make_run("a", make_plan(games=1000), Fixed())
    clear, unclear = pairs(even=400, ww=100), pairs(even=500)
    for results, word in ((clear, "passed"), (unclear, "finished")):
        over = replace(run, status=OVER, tally=replace(run.tally, results=results))
        assert label_status(over).word == word


def read_row(run: Run, **fields: Any) -> str:
    row = replace(make_run_row(ListedRun(run), NOW), **fields)
    return render("tests_live.html", {"waiting": [], "playing": [row]})


def test_a_row_tells_the_sides_of_a_test_of_options_apart() -> None:
    sides = make_side("master", options="Hash=32"), make_side("master")
    shown = read_words(read_row(make_run(plan=make_plan(sides=sides))))
    assert "master with Hash=32 Stockfish against master with Hash=16" in shown


def test_the_row_of_a_tune_has_no_other_side() -> None:
    assert "against" not in read_row(make_run(kind=spsa()))


@pytest.mark.parametrize(("games", "left"), [(2_000, "roughly 10 h to 3 d"), (80_000, " left")])
def test_a_young_test_has_a_range_of_time_and_an_older_one_a_time(games: int, left: str) -> None:
    run = make_run(plan=make_plan(games=800_000), kind=SprtTest(Sprt(0.0, 2.0)), cores=4)
    run = replace(run, tally=replace(run.tally, results=pairs(even=games // 2)))
    row = make_run_row(ListedRun(run, speed=RunSpeed(games_per_minute=60.0)), NOW)
    assert describe_time_left(row).replace("\N{NO-BREAK SPACE}", " ").endswith(left)


def test_what_nobody_plays_has_no_end() -> None:
    assert describe_time_left(make_run_row(ListedRun(make_run()), NOW)) == "no machines"


def test_a_lopsided_interval_has_a_line_of_its_own_in_a_list() -> None:
    lopsided = read_row(make_run(), elo=ShownElo(0.6, -0.09, 1.43, 0.9))
    assert '+0.60<span class="under soft">[-0.09, +1.43]</span>' in lopsided
    assert '<td data-name="Elo" class="number">+0.60 ± 0.71</td>' in read_row(
        make_run(), elo=ShownElo(0.6, -0.11, 1.31, 0.9)
    )
