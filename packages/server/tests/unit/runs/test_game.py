"""The page of one game: what the sides thought of it."""

import msgspec
import pytest

from rookery.core.protocol.games import parse_game_text
from rookery.server.runs.games.game import draw_scores

BLACK_BEGINS = '[FEN "8/8/8/8/8/8/8/8 b - - 0 7"]'


def curves(moves: str, tags: str = '[Result "1-0"]') -> dict[str, list[tuple[float, float]]]:
    figure = draw_scores(parse_game_text(f"{tags}\n\n{moves}"), ("new", "old"))
    if figure is None:
        return {}
    found = msgspec.json.decode(figure.data)["curves"]
    return {each["name"]: list(zip(each["x"], each["y"], strict=True)) for each in found}


def test_scores_of_both_sides_are_drawn_as_white_sees_them() -> None:
    drawn = curves("1. e4 {+0.3/9 1s} e5 {-0.2/9 1s} 2. Nf3 {+0.4/9 1s} Nc6 {+0.1/9 1s}")
    assert drawn["new, White"] == [(1, 0.3), (2, 0.4)]
    assert drawn["old, Black"] == [(1.5, 0.2), (2.5, -0.1)]


def test_a_mate_is_drawn_at_the_edge() -> None:
    drawn = curves("1. e4 {+99.5/9 1s} e5 {-M4/9 1s} 2. Nf3 {+M3/9 1s}")
    assert drawn == {"new, White": [(1, 10), (2, 10)], "old, Black": [(1.5, 10)]}


def test_moves_are_counted_from_where_the_game_begins() -> None:
    drawn = curves("7... e5 {-0.2/9 1s} 8. Nf3 {+0.4/9 1s}", BLACK_BEGINS)
    assert drawn == {"new, White": [(8, 0.4)], "old, Black": [(7.5, 0.2)]}


@pytest.mark.parametrize("moves", ["", "1. e4 e5", "1. e4 {book} e5 {0.1s}", "1. e4 {+0.3/9 1s}"])
def test_a_game_without_scores_has_no_drawing(moves: str) -> None:
    assert not curves(moves)
