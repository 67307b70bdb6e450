"""Where a run stands, in a word and a tone."""

from dataclasses import replace

import pytest

from rookery.model.kinds import Fixed, SprtTest
from rookery.model.run import Run, Status
from rookery.model.task import Results
from rookery.pages.run_row import Tone, label_status
from rookery.stats.sprt import Sprt, SprtState, Verdict
from tests.makers import make_plan, make_run, pairs

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
