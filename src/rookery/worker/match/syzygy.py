"""Asks Syzygy tablebases for the value of a position."""

import contextlib
from collections.abc import Iterator, Sequence

import chess
import chess.syzygy

from rookery.worker.match.verdict import Probe

CERTAIN = 2
"""A win or loss that the fifty-move rule does not take away."""


@contextlib.contextmanager
def tablebases(folders: Sequence[str]) -> Iterator[Probe | None]:
    """A way to ask them while the block lasts; None without folders."""
    if not folders:
        yield None
        return
    with chess.syzygy.Tablebase() as tables:
        for folder in folders:
            tables.add_directory(folder)

        def probe(board: chess.Board) -> int | None:
            # A table's values hold where the fifty-move count begins anew.
            if board.castling_rights or board.halfmove_clock:
                return None
            value = tables.get_wdl(board)
            if value is None:
                return None
            return (value >= CERTAIN) - (value <= -CERTAIN)

        yield probe
