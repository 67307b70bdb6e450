"""When a game is over, by which rule first, and by the engines' own scores."""

from pathlib import Path

import chess
import pytest

from rookery.core.model.plan import Draw, Resign
from rookery.match.engine_output import Score
from rookery.match.job import Adjudication, MatchFault, Termination
from rookery.match.position import Position
from rookery.match.referee import DrawCount, GameEnd, Referee, ResignCount, make_probe, open_tables

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


LOST, FINE, MATED = Score(-600), Score(-599), Score(-3, mate=True)


def resigns(rule: Resign, *scores: Score | None) -> list[bool]:
    """White moves first."""
    count = ResignCount(rule)
    return [count.is_due(score, white=place % 2 == 0) for place, score in enumerate(scores)]


def drawn(rule: Draw, *scores: Score | None, halfmove_clock: int = 5, moves: int = 99) -> bool:
    count = DrawCount(rule)
    return [
        count.is_due(score, halfmove_clock=halfmove_clock, completed_moves=moves)
        for score in scores
    ][-1]


def test_a_side_resigns_by_its_own_scores() -> None:
    happy = Score(0)
    assert resigns(Resign(600, 2), LOST, happy, LOST) == [False, False, True]


def test_a_better_score_begins_the_count_anew() -> None:
    assert not any(resigns(Resign(600, 2), LOST, None, FINE, None, LOST))


def test_a_missing_score_begins_the_count_anew() -> None:
    assert not any(resigns(Resign(600, 2), LOST, FINE, None, FINE, LOST))


def test_a_mate_against_oneself_counts_and_one_of_ones_own_does_not() -> None:
    assert resigns(Resign(600, 2), MATED, Score(3, mate=True), MATED)[-1]


def test_two_sided_needs_both_sides_to_agree() -> None:
    rule = Resign(600, 2, two_sided=True)
    won = Score(650)
    assert not any(resigns(rule, LOST, FINE, LOST, FINE, LOST))
    assert resigns(rule, LOST, won, LOST, won) == [False, False, False, False]
    assert resigns(rule, LOST, won, LOST, won, LOST)[-1]


def test_a_draw_needs_the_scores_of_both_sides() -> None:
    rule = Draw(from_move=34, moves=2, score=20)
    quiet = Score(20)
    assert not drawn(rule, quiet, quiet, quiet)
    assert drawn(rule, quiet, quiet, quiet, Score(-20))


def test_a_draw_waits_for_its_move_number() -> None:
    rule = Draw(from_move=34, moves=1, score=20)
    assert not drawn(rule, Score(0), Score(0), moves=33)
    assert drawn(rule, Score(0), Score(0), moves=34)


def test_captures_and_pawn_moves_begin_the_count_anew() -> None:
    rule = Draw(from_move=0, moves=1, score=20)
    assert not drawn(rule, Score(0), Score(0), halfmove_clock=0)


def test_mates_missing_scores_and_large_ones_begin_the_count_anew() -> None:
    rule = Draw(from_move=0, moves=1, score=20)
    for loud in (Score(0, mate=True), None, Score(21)):
        assert not drawn(rule, Score(0), loud, Score(0))


def test_a_folder_without_tables_knows_nothing(tmp_path: Path) -> None:
    with open_tables([str(tmp_path)]) as tables:
        assert make_probe(tables)(chess.Board("4k3/8/8/8/8/8/8/R3K3 w - - 0 1")) is None


def test_a_position_in_the_middle_of_fifty_moves_is_not_asked_about(tmp_path: Path) -> None:
    with open_tables([str(tmp_path)]) as tables:
        assert make_probe(tables)(chess.Board("4k3/8/8/8/8/8/8/4K3 w - - 3 9")) is None


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(MatchFault, match="No such file"):
        open_tables([str(tmp_path / "none")])
