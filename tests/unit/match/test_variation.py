"""Variations judged without a board, held against the board's own judgement."""

import random

import chess
import pytest

from rookery.match.position import MOVES, is_surely_legal


def judged(board: chess.Board, text: str) -> bool:
    """By the whole board, as a move that is written in one way only."""
    try:
        move = board.parse_uci(text)
    except ValueError:
        return False
    return bool(move) and board.uci(move) == text


def mistakes(board: chess.Board, texts: list[str]) -> list[str]:
    """Moves that are taken for legal and are not, or that are legal, no castling, and refused."""
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
