"""Sequential tests are evaluated at every report and end at a bound or at their last game."""

import pytest

from rookery.model.kinds import Report, SprtTest
from rookery.model.task import NOTHING, Results
from rookery.stats.sprt import Flag, Sprt, SprtState, Verdict
from tests.makers import counts, pairs, sprt

STEPS = [
    pairs(1, 3, 8, 3, 1),
    pairs(1, 7, 14, 8, 2),
    pairs(1, 9, 21, 13, 4),
    pairs(2, 11, 27, 19, 5),
]


def test_the_overshoot_vector_holds_through_the_kind() -> None:
    kind = SprtTest(Sprt(0, 2, batch_size=16))
    for results in STEPS:
        kind = kind.folded(results, None, Report(results)).kind
    overshoot = kind.state.overshoot
    assert overshoot
    assert kind.state.llr == pytest.approx(0.11700220, abs=1e-8)
    assert overshoot.ref1 == pytest.approx(0.11700220, abs=1e-8)
    assert overshoot.sq1 == pytest.approx(0.00529793, abs=1e-8)
    assert (overshoot.last_update, overshoot.skipped_updates) == (64, 0)


def test_games_come_in_whole_batches() -> None:
    kind = sprt(batch=16)
    assert kind.step == 32
    assert kind.objection(NOTHING, Report(pairs(even=15))) == (
        "the number of games is not a multiple of 32"
    )
    assert kind.objection(NOTHING, Report(pairs(even=16))) is None


def test_our_workers_report_any_number_of_whole_pairs() -> None:
    kind = sprt(batch=16)
    assert kind.objection(NOTHING, Report(pairs(even=15), in_parts=True)) is None
    half = counts(wins=1, draws=30, pentanomial=(0, 0, 15, 0, 0))
    assert kind.objection(NOTHING, Report(half, in_parts=True)) == (
        "the number of games is not a multiple of 2"
    )


def test_a_verdict_or_the_last_game_decides() -> None:
    assert not sprt().is_decided(NOTHING, 100)
    assert sprt().is_decided(pairs(even=50), 100)
    won = SprtTest(Sprt(0, 2), SprtState(llr=3, verdict=Verdict.ACCEPTED))
    assert won.is_decided(NOTHING, 100)


@pytest.mark.parametrize(
    ("verdict", "results", "expected"),
    [
        (Verdict.ACCEPTED, pairs(ll=1), Flag.GREEN),
        (Verdict.REJECTED, pairs(ww=1), Flag.YELLOW),
        (Verdict.REJECTED, pairs(ll=1), Flag.NONE),
        (Verdict.RUNNING, pairs(ww=1), Flag.NONE),
    ],
)
def test_flags(verdict: Verdict, results: Results, expected: Flag) -> None:
    assert SprtTest(Sprt(0, 2), SprtState(verdict=verdict)).flag(results) is expected


def test_a_test_near_success_is_helped() -> None:
    near = SprtState(llr=2.5)
    assert SprtTest(Sprt(0.5, 2.5), near).bonus == 0.2
    assert SprtTest(Sprt(0, 2), near).bonus == 0.1
    assert sprt().bonus == 0


def test_what_is_left_is_within_the_planned_games() -> None:
    assert 0 < sprt().games_left(NOTHING, 800_000) <= 800_000
    assert sprt().name == "sprt"
