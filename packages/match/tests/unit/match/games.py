"""Games and pairs for tests, with only what matters in them."""

import chess

from rookery.match.job import GameResult, PairResult, PlayedMove, Termination


def game(
    result: str = "1-0",
    *,
    white: str = "new",
    black: str = "base",
    termination: Termination = Termination.NORMAL,
    moves: tuple[PlayedMove, ...] = (),
    book_moves: tuple[str, ...] = (),
    fen: str = chess.STARTING_FEN,
    reason: str = "White mates",
    lines: tuple[str, ...] = (),
    chess960: bool = False,
) -> GameResult:
    return GameResult(
        white,
        black,
        fen,
        book_moves,
        moves,
        result,
        termination,
        reason,
        lines=lines,
        chess960=chess960,
    )


def pair(first: str, second: str, *, number: int = 0) -> PairResult:
    """By the results of its games; the new engine has White in the first."""
    games = game(first), game(second, white="base", black="new")
    return PairResult(number, "new", "base", games)
