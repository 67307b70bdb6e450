"""An opening: where a game pair starts."""

from dataclasses import dataclass

import chess


@dataclass(frozen=True, slots=True)
class Opening:
    """A position and the moves played from it, in UCI notation."""

    fen: str
    moves: tuple[str, ...] = ()


STANDARD = Opening(chess.STARTING_FEN)
"""What is played without a book."""
