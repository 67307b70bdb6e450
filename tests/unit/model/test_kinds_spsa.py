"""Tunes move by the batch whose draw is on the ticket, once."""

import pytest

from rookery.model.kinds import Report, SpsaTuning, ticket_of
from rookery.model.task import NOTHING
from rookery.stats.sprt import Flag
from rookery.stats.spsa import PerturbationDraw, TuneBatch
from tests.makers import pairs, spsa

WON = pairs(ww=4)


def batch(kind: SpsaTuning, **fields: int) -> TuneBatch:
    drawn = kind.perturbed(b"\x80")
    given = {"games": 8, "wins": 8, "losses": 0, "signature": drawn.issued.signature, **fields}
    return TuneBatch(**given)


def test_a_won_batch_moves_the_values_towards_the_winner() -> None:
    kind = spsa()
    drawn = kind.perturbed(b"\x80")
    folded = kind.folded(WON, ticket_of([drawn]), Report(WON, (batch(kind),)))
    assert folded.kind.tune.thetas[0] > 100
    assert folded.kind.tune.iteration == 4
    assert folded.ticket is None


def test_without_a_ticket_or_with_another_signature_games_count_and_values_stay() -> None:
    kind = spsa()
    drawn = ticket_of([kind.perturbed(b"\x80")])
    for ticket, sent in ((None, batch(kind)), (drawn, batch(kind, signature=7))):
        folded = kind.folded(WON, ticket, Report(WON, (sent,)))
        assert folded.kind.tune == kind.tune
        assert folded.ticket is None


def test_a_report_without_a_batch_leaves_the_ticket() -> None:
    kind = spsa()
    drawn = ticket_of([kind.perturbed(b"\x80")])
    assert kind.folded(WON, drawn, Report(WON)).ticket == drawn


def test_our_worker_reports_one_batch_per_slot() -> None:
    kind = spsa()
    draws = [PerturbationDraw(b"\x80", (0.5,)), PerturbationDraw(b"\x00", (0.5,))]
    drawn = kind.perturbed_finally(draws)
    batches = tuple(TuneBatch(4, 4, 0, each.issued.signature) for each in drawn)
    folded = kind.folded(WON, ticket_of(drawn), Report(WON, batches))
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
    assert kind.flag(WON) is Flag.NONE
    assert not kind.may_purge
    assert kind.judge({}) is None
    assert kind.rejudged(NOTHING) is kind
    assert kind.games_left(WON, 1000) == 992
    assert (kind.name, kind.step, kind.bonus) == ("spsa", 2, 0)


def test_many_parameters_allow_fewer_cores() -> None:
    four = "\n".join(f"P{n},100,0,200,10,0.002" for n in range(4))
    assert spsa(lines=four).core_limit == pytest.approx(100_000)
