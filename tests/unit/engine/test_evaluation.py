"""The evaluation is fair to both colours, counts what it should and follows its weights."""

import chess
import pytest

from rookery.engine.evaluation import Evaluation, end_of, middle_of, pack
from rookery.engine.session import POSITIONS
from rookery.engine.settings import Weights

evaluate = Evaluation(Weights())


def score(fen: str, weights: Weights | None = None) -> int:
    return Evaluation(weights or Weights())(chess.Board(fen))


@pytest.mark.parametrize("fen", POSITIONS)
def test_a_position_and_its_mirror_image_are_worth_the_same(fen: str) -> None:
    board = chess.Board(fen)
    assert evaluate(board) == evaluate(board.mirror())


def test_the_starting_position_is_worth_the_first_move() -> None:
    assert evaluate(chess.Board()) == Weights().tempo


@pytest.mark.parametrize("piece", ["P", "N", "B", "R", "Q"])
def test_one_piece_more_is_better_than_none(piece: str) -> None:
    assert score(f"4k3/8/8/8/3{piece}4/8/8/4K3 w - - 0 1") > 50


def test_a_knight_in_the_centre_is_better_than_in_the_corner() -> None:
    corner, centre = "4k3/8/8/8/8/8/8/N3K3 w - - 0 1", "4k3/8/8/8/4N3/8/8/4K3 w - - 0 1"
    assert score(centre) > score(corner)


def test_squares_count_by_their_weight() -> None:
    weights = Weights(piece_square=0, mobility=0)
    corner, centre = "4k3/8/8/8/8/8/8/N3K3 w - - 0 1", "4k3/8/8/8/4N3/8/8/4K3 w - - 0 1"
    assert score(centre, weights) == score(corner, weights)


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ("4k3/8/8/8/8/8/3PP3/4K3 w - - 0 1", "4k3/8/8/8/8/4P3/4P3/4K3 w - - 0 1"),
        ("4k3/8/8/8/8/8/3PP3/4K3 w - - 0 1", "4k3/8/8/8/8/8/P2P4/4K3 w - - 0 1"),
        ("4k3/p7/4P3/8/8/8/8/4K3 w - - 0 1", "4k3/3p4/4P3/8/8/8/8/4K3 w - - 0 1"),
        ("4k3/p7/8/8/8/8/P7/1R2K3 w - - 0 1", "4k3/p7/8/8/8/8/P7/R3K3 w - - 0 1"),
    ],
    ids=["doubled", "isolated", "passed", "open file"],
)
def test_the_structure_counts(better: str, worse: str) -> None:
    assert score(better) > score(worse)


def test_the_winning_king_comes_near_to_a_lone_one() -> None:
    near, far = "8/8/8/8/8/2K5/k7/7Q w - - 0 1", "8/8/8/2K5/8/8/k7/7Q w - - 0 1"
    assert score(near, Weights(piece_square=0)) > score(far, Weights(piece_square=0))


@pytest.mark.parametrize("weight", ["bishop", "tempo", "mobility", "king_shield", "bishop_pair"])
def test_a_weight_changes_the_score(weight: str) -> None:
    fen = "r1bqk2r/pppp4/2n2n2/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
    raised = Weights(**{weight: 2 * getattr(Weights(), weight)})
    assert score(fen, raised) != score(fen)


@pytest.mark.parametrize(("middle", "end"), [(0, 0), (5, -7), (-5, 7), (-9000, -9000)])
def test_two_numbers_travel_in_one(middle: int, end: int) -> None:
    packed = pack(middle, end)
    assert (middle_of(packed), end_of(packed)) == (middle, end)
