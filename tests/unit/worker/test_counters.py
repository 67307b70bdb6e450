"""Pairs become batches."""

from rookery.match.job import GameResult, PairResult, Termination
from rookery.model.task import NOTHING, Results
from rookery.protocol.worker_requests import SlotResult, SpsaResult
from rookery.worker.playing import GameCounter, TuneCounter
from rookery.worker.server import TaskProgress


def game(result: str) -> GameResult:
    return GameResult("w", "b", "", (), (), result, Termination.NORMAL, "")


def pair(number: int, first: str = "1-0", second: str = "1/2-1/2") -> PairResult:
    """By default a win with White and a draw with Black."""
    return PairResult(number, "new", "base", (game(first), game(second)))


def test_a_batch_is_reported_when_it_is_whole() -> None:
    ledger = GameCounter(NOTHING, batch_pairs=2)
    assert ledger.add(pair(0)) is None
    assert ledger.add(pair(1)) == TaskProgress(Results(2, 0, 2, 0, 0, (0, 0, 0, 2, 0)))


def test_totals_include_what_was_played_before() -> None:
    before = Results(1, 1, 0, 0, 0, (0, 0, 1, 0, 0))
    told = GameCounter(before, batch_pairs=1).add(pair(0))
    assert told == TaskProgress(Results(2, 1, 1, 0, 0, (0, 0, 1, 1, 0)))


def test_what_is_left_over_is_reported_once() -> None:
    ledger = GameCounter(NOTHING, batch_pairs=2)
    ledger.add(pair(0))
    told = ledger.rest()
    assert told is not None
    assert told.stats.games == 2
    assert ledger.rest() is None


def test_a_tune_reports_when_all_its_pairs_are_there() -> None:
    ledger = TuneCounter(NOTHING, 2, (7, 8), joint=9, is_rookery=True)
    assert ledger.add(pair(1)) is None
    told = ledger.add(pair(0, "0-1", "1-0"))
    assert told is not None
    assert told.spsa == SpsaResult(
        num_games=4,
        wins=1,
        losses=2,
        draws=1,
        sig=9,
        slots=(
            SlotResult(num_games=2, wins=0, losses=2, draws=0, sig=7),
            SlotResult(num_games=2, wins=1, losses=0, draws=1, sig=8),
        ),
    )


def test_another_projects_server_hears_of_no_slots() -> None:
    told = TuneCounter(NOTHING, 1, (9,), joint=9, is_rookery=False).add(pair(0))
    assert told is not None
    assert type(told.spsa) is SlotResult
