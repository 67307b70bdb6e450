"""The kinds of test: fixed games, sequential tests and tunes."""

import pytest

from rookery.core.model.kinds import (
    KINDS,
    Fixed,
    Kind,
    Outcome,
    Report,
    RunForecast,
    SprtTest,
    SpsaTuning,
    ticket_of,
)
from rookery.core.model.task import NOTHING, Results
from rookery.core.stats.sprt import Flag, Sprt, SprtState, Verdict
from rookery.core.stats.spsa import PerturbationDraw, TuneBatch, perturb, perturb_final
from tests.values import counts, pairs, sprt, spsa


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        (pairs(ww=50, even=50), Flag.GREEN),
        (pairs(even=100), Flag.NONE),
        (pairs(ll=50, even=50), Flag.NONE),
    ],
)
def test_the_flag_is_green_when_superiority_is_likely(results: Results, expected: Flag) -> None:
    assert Fixed().outcome(results).flag is expected


def test_the_last_game_decides() -> None:
    assert Fixed().is_decided(pairs(even=50), 100)
    assert not Fixed().is_decided(pairs(even=49), 100)
    assert Fixed().forecast(pairs(even=49), 100) == RunForecast(2)


def test_reports_come_in_pairs_and_change_nothing_but_the_sums() -> None:
    kind, report = Fixed(), Report(pairs(even=1))
    assert kind.with_report(report.results, (), report).ticket == ()
    assert kind.rejudged(NOTHING) is kind
    assert (kind.name, kind.step, kind.bonus) == ("fixed", 2, 0)
    odd = Report(counts(wins=1))
    assert kind.objection(NOTHING, odd) == "the number of games is not a multiple of 2"


STEPS = [
    pairs(1, 3, 8, 3, 1),
    pairs(1, 7, 14, 8, 2),
    pairs(1, 9, 21, 13, 4),
    pairs(2, 11, 27, 19, 5),
]


def test_the_overshoot_vector_holds_through_the_kind() -> None:
    kind = SprtTest(Sprt(0, 2, batch_size=16))
    for results in STEPS:
        kind = kind.with_report(results, None, Report(results)).kind
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
    assert SprtTest(Sprt(0, 2), SprtState(verdict=verdict)).outcome(results).flag is expected


def test_a_test_near_success_is_helped() -> None:
    near = SprtState(llr=2.5)
    assert SprtTest(Sprt(0.5, 2.5), near).bonus == 0.2
    assert SprtTest(Sprt(0, 2), near).bonus == 0.1
    assert sprt().bonus == 0


def test_what_is_left_is_within_the_planned_games() -> None:
    ahead = sprt().forecast(NOTHING, 800_000)
    assert ahead
    assert 0 < ahead.games <= 800_000
    assert sprt().name == "sprt"


WON = pairs(ww=4)


def batch(kind: SpsaTuning, **fields: int) -> TuneBatch:
    drawn = perturb(kind.tune, b"\x80")
    given = {"games": 8, "wins": 8, "losses": 0, "signature": drawn.issued.signature, **fields}
    return TuneBatch(**given)


def test_a_won_batch_moves_the_values_towards_the_winner() -> None:
    kind = spsa()
    drawn = perturb(kind.tune, b"\x80")
    folded = kind.with_report(WON, ticket_of([drawn]), Report(WON, (batch(kind),)))
    assert folded.kind.tune.thetas[0] > 100
    assert folded.kind.tune.iteration == 4
    assert folded.ticket is None


def test_without_a_ticket_or_with_another_signature_games_count_and_values_stay() -> None:
    kind = spsa()
    drawn = ticket_of([perturb(kind.tune, b"\x80")])
    for ticket, sent in ((None, batch(kind)), (drawn, batch(kind, signature=7))):
        folded = kind.with_report(WON, ticket, Report(WON, (sent,)))
        assert folded.kind.tune == kind.tune
        assert folded.ticket is None


def test_a_report_without_a_batch_leaves_the_ticket() -> None:
    kind = spsa()
    drawn = ticket_of([perturb(kind.tune, b"\x80")])
    assert kind.with_report(WON, drawn, Report(WON)).ticket == drawn


def test_our_worker_reports_one_batch_per_slot() -> None:
    kind = spsa()
    draws = [PerturbationDraw(b"\x80", (0.5,)), PerturbationDraw(b"\x00", (0.5,))]
    drawn = perturb_final(kind.tune, draws)
    batches = tuple(TuneBatch(4, 4, 0, each.issued.signature) for each in drawn)
    folded = kind.with_report(WON, ticket_of(drawn), Report(WON, batches))
    assert folded.kind.tune.iteration == 4


def test_a_batch_must_add_exactly_its_games() -> None:
    kind = spsa()
    assert kind.objection(NOTHING, Report(WON, (batch(kind),))) is None
    assert kind.objection(WON, Report(WON, (batch(kind),))) == "a batch of the tune adds no games"
    assert kind.objection(NOTHING, Report(WON, (batch(kind, games=6),))) == (
        "the batch of the tune is not as long as the games it adds"
    )


def test_a_tune_ends_with_its_last_game_and_has_no_flag() -> None:
    kind = spsa()
    assert kind.is_decided(pairs(even=500), 1000)
    assert kind.outcome(WON) is Outcome.OPEN
    assert not kind.may_purge
    assert kind.judge({}) is None
    assert kind.rejudged(NOTHING) is kind
    assert kind.forecast(WON, 1000) == RunForecast(992)
    assert (kind.name, kind.step, kind.bonus) == ("spsa", 2, 0)


def test_many_parameters_allow_fewer_cores() -> None:
    four = "\n".join(f"P{n},100,0,200,10,0.002" for n in range(4))
    assert spsa(lines=four).core_limit == pytest.approx(100_000)


def ended(verdict: Verdict, wins: int, elo0: float = 0.0, elo1: float = 2.0) -> Outcome:
    return SprtTest(Sprt(elo0, elo1), SprtState(verdict=verdict)).outcome(
        counts(wins=wins, losses=10)
    )


@pytest.mark.parametrize(
    ("verdict", "wins", "outcome", "flag"),
    [
        (Verdict.ACCEPTED, 11, Outcome.PASSED, Flag.GREEN),
        (Verdict.ACCEPTED, 9, Outcome.PASSED, Flag.GREEN),
        (Verdict.REJECTED, 11, Outcome.POSITIVE, Flag.YELLOW),
        (Verdict.REJECTED, 10, Outcome.FAILED, Flag.NONE),
        (Verdict.RUNNING, 11, Outcome.OPEN, Flag.NONE),
    ],
)
def test_a_verdict_and_the_score_make_an_outcome(
    verdict: Verdict, wins: int, outcome: Outcome, flag: Flag
) -> None:
    assert ended(verdict, wins) is outcome
    assert outcome.flag is flag


def test_a_passed_simplification_held_its_strength() -> None:
    assert ended(Verdict.ACCEPTED, 9, -1.75, 0.25) is Outcome.HELD
    assert Outcome.HELD.flag is Flag.GREEN


@pytest.mark.parametrize("kind", [Fixed(), sprt(), spsa()])
def test_a_kind_is_made_again_from_what_is_stored_of_it(kind: Kind) -> None:
    assert KINDS[kind.name].joined(kind.parts) == kind
