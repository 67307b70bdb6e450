"""`position` commands: followed move by move, in standard and in Fischer random chess."""

import chess
import pytest

from rookery.engine.ordering import key_of
from rookery.engine.thinking import BadPosition, Position


def put(position: Position, words: str, *, chess960: bool = False) -> Position:
    position.set(words.split(), chess960=chess960)
    return position


def test_moves_are_played_from_the_start() -> None:
    position = put(Position(), "startpos moves e2e4 e7e5")
    assert position.board.fen().startswith("rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w")


def test_a_longer_game_gives_the_same_as_from_the_start() -> None:
    followed = put(put(Position(), "startpos moves e2e4"), "startpos moves e2e4 e7e5 g1f3")
    fresh = put(Position(), "startpos moves e2e4 e7e5 g1f3")
    assert (followed.board, followed.before) == (fresh.board, fresh.before)


def test_another_game_is_set_up_anew() -> None:
    position = put(put(Position(), "startpos moves e2e4"), "startpos moves d2d4 d7d5")
    assert position.board.piece_at(chess.E4) is None


def test_the_positions_before_are_remembered() -> None:
    position = put(Position(), "startpos moves g1f3 g8f6 f3g1 f6g8")
    assert key_of(chess.Board()) in position.before
    assert len(position.before) == 4


def test_a_position_may_be_given() -> None:
    fen = "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"
    assert put(Position(), f"fen {fen} moves e2e4").board.piece_at(chess.E4) is not None


def test_castling_in_fischer_random_takes_the_rook() -> None:
    position = put(Position(), "fen 4k3/8/8/8/8/8/8/4K2R w H - 0 1 moves e1h1", chess960=True)
    assert position.board.king(chess.WHITE) == chess.G1


@pytest.mark.parametrize(
    "words",
    [
        "",
        "fen",
        "nonsense",
        "fen 8/8/8 w - - 0 1",
        "fen 4k3/8/8/8/8/8/8/8 w - - 0 1",
        "startpos moves e2e5",
        "startpos moves castle",
    ],
)
def test_nonsense_is_refused_and_changes_nothing(words: str) -> None:
    position = put(Position(), "startpos moves e2e4")
    before = position.board.fen()
    with pytest.raises(BadPosition):
        put(position, words)
    assert position.board.fen() == before
