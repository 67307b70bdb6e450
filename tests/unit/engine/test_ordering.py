"""Every legal move comes exactly once, likely ones first."""

import chess
import pytest

from rookery.engine.ordering import Memory, captures, loses_material, ordered, promotions
from rookery.engine.session import POSITIONS

EXTRA = (
    "4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1",
    "4k3/P7/8/8/8/8/8/4K2R w K - 0 1",
    "4k3/8/8/8/7b/8/8/4K3 w - - 0 1",
)


@pytest.mark.parametrize("fen", [*POSITIONS, *EXTRA])
def test_every_legal_move_comes_once(fen: str) -> None:
    board = chess.Board(fen)
    legal = list(board.legal_moves)
    moves = list(ordered(board, legal[-1], Memory(), 0))
    assert moves[0] == legal[-1]
    assert sorted(map(str, moves)) == sorted(map(str, legal))


def test_the_best_bargain_comes_first() -> None:
    board = chess.Board("4k3/8/8/2q1r3/3P4/8/8/2R4K w - - 0 1")
    assert [move.uci() for move in captures(board)] == ["d4c5", "c1c5", "d4e5"]


def test_a_move_that_refuted_before_comes_before_other_quiet_ones() -> None:
    board, memory, killer = chess.Board(), Memory(), chess.Move.from_uci("a2a3")
    memory.refuted(board, killer, ply=3, depth=2)
    assert next(ordered(board, None, memory, 3)) == killer


def test_only_queens_count_among_quiet_promotions() -> None:
    board = chess.Board("8/P6k/8/8/8/8/8/K7 w - - 0 1")
    assert [move.uci() for move in promotions(board)] == ["a7a8q"]


@pytest.mark.parametrize(
    ("fen", "loses"),
    [
        ("4k3/2p5/3p4/8/8/8/3Q4/4K3 w - - 0 1", True),
        ("4k3/8/3p4/8/8/8/3Q4/4K3 w - - 0 1", False),
        ("4k3/2p5/3r4/4P3/8/8/3Q4/4K3 w - - 0 1", True),
    ],
)
def test_a_capture_of_a_defended_lesser_piece_loses_material(fen: str, loses: bool) -> None:
    assert loses_material(chess.Board(fen), chess.Move.from_uci("d2d6")) is loses
