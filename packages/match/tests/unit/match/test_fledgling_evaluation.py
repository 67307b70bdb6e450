"""Fledgling's options, and an evaluation that is fair to both colours and follows them."""

import chess
import pytest

from rookery.match.fledgling import BENCH_POSITIONS
from rookery.match.fledgling_evaluation import (
    DEFAULTS,
    Evaluation,
    captures,
    loses_material,
    option_lines,
    pack,
    queen_promotions,
    unpack,
    with_option,
)


def test_a_number_is_declared_with_its_limits() -> None:
    assert "option name Tempo type spin default 12 min 0 max 80" in option_lines()


def test_a_switch_is_declared_with_its_default() -> None:
    assert "option name Quiescence type check default true" in option_lines()


def test_the_weights_of_the_evaluation_are_options_for_a_tuner() -> None:
    declared = "\n".join(option_lines())
    for name in ("PawnValue", "BishopPair", "Mobility", "KingShield", "PieceSquare"):
        assert f"option name {name} type spin" in declared


@pytest.mark.parametrize("name", ["Tempo", "tempo", "TEMPO"])
def test_names_are_found_in_any_case(name: str) -> None:
    assert with_option(DEFAULTS, name, "20") == {**DEFAULTS, "Tempo": 20}


def test_a_switch_is_set_by_a_word() -> None:
    assert with_option(DEFAULTS, "Quiescence", "False")["Quiescence"] == 0


@pytest.mark.parametrize(("given", "kept"), [("-5", 0), ("900", 80)])
def test_a_number_beyond_its_limits_is_brought_back(given: str, kept: int) -> None:
    assert with_option(DEFAULTS, "Tempo", given)["Tempo"] == kept


@pytest.mark.parametrize(("name", "value"), [("Tempo", "much"), ("Quiescence", "perhaps")])
def test_a_wrong_value_is_refused(name: str, value: str) -> None:
    with pytest.raises(ValueError, match=value):
        with_option(DEFAULTS, name, value)


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(ValueError, match="no such option"):
        with_option(DEFAULTS, "Contempt", "1")


evaluate = Evaluation(DEFAULTS)


def score(fen: str, **changed: int) -> int:
    return Evaluation({**DEFAULTS, **changed})(chess.Board(fen))


@pytest.mark.parametrize("fen", BENCH_POSITIONS)
def test_a_position_and_its_mirror_image_are_worth_the_same(fen: str) -> None:
    board = chess.Board(fen)
    assert evaluate(board) == evaluate(board.mirror())


def test_the_starting_position_is_worth_the_first_move() -> None:
    assert evaluate(chess.Board()) == DEFAULTS["Tempo"]


@pytest.mark.parametrize("piece", ["P", "N", "B", "R", "Q"])
def test_one_piece_more_is_better_than_none(piece: str) -> None:
    assert score(f"4k3/8/8/8/3{piece}4/8/8/4K3 w - - 0 1") > 50


def test_a_knight_in_the_centre_is_better_than_in_the_corner() -> None:
    corner, centre = "4k3/8/8/8/8/8/8/N3K3 w - - 0 1", "4k3/8/8/8/4N3/8/8/4K3 w - - 0 1"
    assert score(centre) > score(corner)


def test_squares_count_by_their_weight() -> None:
    weights = {"PieceSquare": 0, "Mobility": 0}
    corner, centre = "4k3/8/8/8/8/8/8/N3K3 w - - 0 1", "4k3/8/8/8/4N3/8/8/4K3 w - - 0 1"
    assert score(centre, **weights) == score(corner, **weights)


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
    assert score(near, PieceSquare=0) > score(far, PieceSquare=0)


@pytest.mark.parametrize("weight", ["BishopValue", "Tempo", "Mobility", "KingShield", "BishopPair"])
def test_a_weight_changes_the_score(weight: str) -> None:
    fen = "r1bqk2r/pppp4/2n2n2/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
    assert score(fen, **{weight: 2 * DEFAULTS[weight]}) != score(fen)


@pytest.mark.parametrize(("middle", "end"), [(0, 0), (5, -7), (-5, 7), (-9000, -9000)])
def test_two_numbers_travel_in_one(middle: int, end: int) -> None:
    assert unpack(pack(middle, end)) == (middle, end)


def test_the_best_bargain_comes_first() -> None:
    board = chess.Board("4k3/8/8/2q1r3/3P4/8/8/2R4K w - - 0 1")
    assert [move.uci() for move in captures(board)] == ["d4c5", "c1c5", "d4e5"]


def test_only_queens_count_among_quiet_queen_promotions() -> None:
    board = chess.Board("8/P6k/8/8/8/8/8/K7 w - - 0 1")
    assert [move.uci() for move in queen_promotions(board)] == ["a7a8q"]


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
