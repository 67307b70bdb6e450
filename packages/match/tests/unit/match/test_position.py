"""The rules of chess as far as they end games and refuse moves."""

import random

import chess
import pytest

from rookery.match.job import MatchFault
from rookery.match.openings import Opening
from rookery.match.position import (
    MOVES,
    IllegalMove,
    Position,
    RuleEnding,
    is_surely_legal,
    position_after,
)

SHUFFLE = ("g1f3", "g8f6", "f3g1", "f6g8")


def played(fen: str, *moves: str, chess960: bool = False) -> Position:
    position = Position(fen, chess960=chess960)
    for move in moves:
        position.play(move)
    return position


def test_the_third_time_on_the_board_is_a_draw() -> None:
    assert played(chess.STARTING_FEN, *SHUFFLE).ending() is None
    assert played(chess.STARTING_FEN, *SHUFFLE, *SHUFFLE).ending() is RuleEnding.REPETITION


def test_a_repetition_that_a_move_could_bring_is_not_claimed() -> None:
    assert played(chess.STARTING_FEN, *SHUFFLE, *SHUFFLE[:3]).ending() is None


def test_a_lost_right_to_capture_in_passing_makes_another_position() -> None:
    start = "4k1n1/8/8/8/3p4/8/4P3/4K1N1 w - - 0 1"
    moves = ("e2e4", "g8f6", "g1f3", "f6g8", "f3g1", "g8f6", "g1f3", "f6g8", "f3g1")
    assert played(start, *moves).ending() is None
    assert played(start, *moves, "g8f6").ending() is RuleEnding.REPETITION


def test_a_square_behind_a_pawn_that_nobody_can_take_makes_no_difference() -> None:
    start = "4k1n1/8/8/8/8/8/4P3/4K1N1 w - - 0 1"
    moves = ("e2e4", "g8f6", "g1f3", "f6g8", "f3g1", "g8f6", "g1f3", "f6g8", "f3g1")
    assert played(start, *moves).ending() is RuleEnding.REPETITION


def test_fifty_moves_are_a_draw() -> None:
    assert played("4k3/8/8/8/8/8/8/R3K3 w - - 98 80", "a1a2").ending() is None
    assert played("4k3/8/8/8/8/8/8/R3K3 w - - 99 80", "a1a2").ending() is RuleEnding.FIFTY_MOVES


def test_a_mate_with_the_hundredth_half_move_counts() -> None:
    assert played("7k/8/6K1/8/8/8/8/R7 w - - 99 80", "a1a8").ending() is RuleEnding.CHECKMATE


def test_stalemate() -> None:
    assert played("7k/8/5K2/6Q1/8/8/8/8 w - - 0 1", "g5g6").ending() is RuleEnding.STALEMATE


def test_a_lone_minor_piece_cannot_win() -> None:
    assert played("4k3/8/8/8/8/8/4p3/4KB2 w - - 0 1", "f1e2").ending() is RuleEnding.INSUFFICIENT


@pytest.mark.parametrize(
    "text", ["", "0000", "(none)", "e2e5", "e7e5", "e2e4q", "E2E4", "P@e4", "é"]
)
def test_what_is_no_legal_move_is_refused(text: str) -> None:
    with pytest.raises(IllegalMove):
        played(chess.STARTING_FEN, text)


def test_castling_is_a_king_move_in_ordinary_chess() -> None:
    fen = "4k3/8/8/8/8/8/8/4K2R w K - 0 1"
    assert played(fen, "e1g1").board.piece_at(chess.F1) == chess.Piece.from_symbol("R")
    with pytest.raises(IllegalMove):
        played(fen, "e1h1")


@pytest.mark.parametrize("rights", ["K", "G"])
def test_the_king_takes_its_rook_in_fischer_random(rights: str) -> None:
    fen = f"4k3/8/8/8/8/8/8/5KR1 w {rights} - 0 1"
    position = played(fen, "f1g1", chess960=True)
    assert position.board.piece_at(chess.G1) == chess.Piece.from_symbol("K")
    assert position.board.piece_at(chess.F1) == chess.Piece.from_symbol("R")
    assert position.uci_command().endswith(b" moves f1g1")


def test_the_position_is_told_from_the_opening_on() -> None:
    assert played(chess.STARTING_FEN, "e2e4").uci_command() == b"position startpos moves e2e4"
    assert Position("4k3/8/8/8/8/8/8/4K2R w K - 0 1").uci_command() == (
        b"position fen 4k3/8/8/8/8/8/8/4K2R w K - 0 1"
    )


def test_a_variation_begins_where_its_move_was_made() -> None:
    position = played(chess.STARTING_FEN, "e2e4")
    assert position.is_legal_before(("e2e4", "e7e5", "g1f3"))
    assert not position.is_legal_before(("e7e5",))
    assert not position.is_legal_before(("e2e4", "e7e5", "e7e5"))


@pytest.mark.parametrize(
    "opening", [Opening("nonsense"), Opening(chess.STARTING_FEN, ("e2e4", "e2e4"))]
)
def test_an_opening_that_cannot_be_played_is_named(opening: Opening) -> None:
    with pytest.raises(MatchFault, match="can't be played"):
        position_after(opening, chess960=False)


def judged(board: chess.Board, text: str) -> bool:
    """By the whole board, as a move that is written in one way only."""
    try:
        move = board.parse_uci(text)
    except ValueError:
        return False
    return bool(move) and board.uci(move) == text


def mistakes(board: chess.Board, texts: list[str]) -> list[str]:
    """Return the moves that are taken for legal and are not, or that are legal, no castling, and
    refused."""
    found = []
    for text in texts:
        said, legal = is_surely_legal(board, [text]), judged(board, text)
        castles = legal and board.is_castling(board.parse_uci(text))
        if said != (legal and not castles):
            found.append(f"{text} in {board.fen()}")
    return found


@pytest.mark.parametrize("seed", range(4))
def test_random_games_are_judged_as_the_board_judges(seed: int) -> None:
    chance = random.Random(seed)
    texts = list(MOVES)
    board = chess.Board()
    if seed % 2:
        board = chess.Board.from_chess960_pos(chance.randrange(960))
    for _ in range(24):
        legal = list(board.legal_moves)
        if not legal:
            break
        written = [board.uci(move) for move in legal]
        pseudo = [board.uci(move) for move in board.pseudo_legal_moves]
        assert mistakes(board, [*written, *pseudo, *chance.sample(texts, 20)]) == []
        board.push(chance.choice(legal))


@pytest.mark.parametrize(
    "fen",
    [
        "8/8/8/8/k2Pp2Q/8/8/3K4 b - d3 0 1",
        "8/8/8/2k5/3Pp3/8/8/4K3 b - d3 0 1",
        "4k3/P6P/8/8/8/8/p6p/1N2K1N1 b - - 0 1",
        "1n2k1n1/P6P/8/8/8/8/8/4K3 w - - 0 1",
        "4r1k1/8/8/8/8/8/4B3/4K3 w - - 0 1",
        "4k3/8/8/8/1b6/8/3N4/4K3 w - - 0 1",
        "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1",
    ],
)
def test_pins_promotions_and_en_passant_are_judged_as_the_board_judges(fen: str) -> None:
    board = chess.Board(fen)
    from_pieces = [text for text in MOVES if board.piece_at(chess.parse_square(text[:2]))]
    assert mistakes(board, from_pieces) == []


def test_a_whole_variation_is_followed() -> None:
    line = [
        "e2e4",
        "c7c5",
        "e4e5",
        "d7d5",
        "e5d6",
        "d8d6",
        "g1f3",
        "c8g4",
        "h2h3",
        "g4f3",
        "d1f3",
        "d6e5",
        "f1e2",
    ]
    assert is_surely_legal(chess.Board(), line)
    assert not is_surely_legal(chess.Board(), [*line, "a7a4"])


def test_texts_that_are_no_moves_are_not_known() -> None:
    for text in ("", "0000", "e2e4q", "e7e8Q", "e7e8k", "(none)"):
        assert not is_surely_legal(chess.Board(), [text])
