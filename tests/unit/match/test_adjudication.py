"""Games ended by the engines' own scores."""

from rookery.match.engine_output import Score
from rookery.match.referee import DrawCount, ResignCount
from rookery.model.plan import Draw, Resign

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
