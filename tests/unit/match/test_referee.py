"""When a game is over, and by which rule first."""

import chess

from rookery.match.engine_output import Score
from rookery.match.job import Adjudication, Termination
from rookery.match.position import Position
from rookery.match.referee import GameEnd, Referee
from rookery.model.plan import Draw, Resign

EAGER = Adjudication(Resign(100, 1), Draw(0, 1, 20))


def judged(rules: Adjudication, fen: str, move: str, score: Score | None) -> GameEnd | None:
    position = Position(fen)
    position.play(move)
    return Referee(rules, lambda _: 1).judge_move(position, score)


def test_a_mate_goes_before_any_adjudication() -> None:
    verdict = judged(EAGER, "7k/8/6K1/8/8/8/8/R7 w - - 0 1", "a1a8", Score(-900))
    assert verdict == GameEnd("1-0", Termination.NORMAL, "White mates")


def test_who_resigns_loses() -> None:
    verdict = judged(EAGER, chess.STARTING_FEN, "e2e4", Score(-900))
    assert verdict == GameEnd("0-1", Termination.ADJUDICATION, "Black wins by adjudication")


def test_without_rules_the_game_goes_on() -> None:
    assert judged(Adjudication(), chess.STARTING_FEN, "e2e4", Score(-900)) is None


def test_tablebases_decide_from_their_number_of_men_on() -> None:
    fen = "4k3/8/8/8/8/8/8/R3K3 w - - 0 1"
    assert judged(Adjudication(syzygy_men=2), fen, "a1a2", None) is None
    verdict = judged(Adjudication(syzygy_men=3), fen, "a1a2", None)
    assert verdict == GameEnd("0-1", Termination.ADJUDICATION, "Decided by tablebase")


def test_tablebases_go_before_scores() -> None:
    rules = Adjudication(Resign(100, 1), syzygy_men=3)
    verdict = judged(rules, "4k3/8/8/8/8/8/8/R3K3 w - - 0 1", "a1a2", Score(-900))
    assert verdict == GameEnd("0-1", Termination.ADJUDICATION, "Decided by tablebase")


def test_tablebases_decide_an_opening_too() -> None:
    referee = Referee(Adjudication(syzygy_men=3), lambda _: 1)
    verdict = referee.judge_opening(Position("4k3/8/8/8/8/8/8/R3K3 w - - 0 1"))
    assert verdict == GameEnd("1-0", Termination.ADJUDICATION, "Decided by tablebase")


def test_the_moves_of_the_opening_do_not_count_towards_the_length() -> None:
    position = Position(chess.STARTING_FEN)
    referee = Referee(Adjudication(most_moves=1))
    for move in ("e2e4", "e7e5", "g1f3", "b8c6"):
        position.play(move)
    assert referee.judge_opening(position) is None
    position.play("f1b5")
    assert referee.judge_move(position, None) is None


def test_a_game_that_is_too_long_is_a_draw() -> None:
    position = Position(chess.STARTING_FEN)
    referee = Referee(Adjudication(most_moves=1))
    position.play("e2e4")
    assert referee.judge_move(position, None) is None
    position.play("e7e5")
    verdict = referee.judge_move(position, None)
    assert verdict is not None
    assert verdict.result == "1/2-1/2"
