"""Asks Syzygy tablebases for the value of a position."""

from collections.abc import Sequence

import chess
import chess.syzygy

from rookery.worker.match.faults import MatchFault
from rookery.worker.match.verdict import Probe

CERTAIN = 2
"""A win or loss that the fifty-move rule does not take away."""


class NoTables(MatchFault):
    """A folder of tablebases that can't be read."""

    def __init__(self, folder: str, why: str) -> None:
        super().__init__(f"The tablebases in {folder} cannot be read: {why}.")


def open_tables(folders: Sequence[str]) -> chess.syzygy.Tablebase:
    """All tables in the folders; nothing is read of them yet. Raises NoTables."""
    tables = chess.syzygy.Tablebase()
    for folder in folders:
        try:
            tables.add_directory(folder)
        except OSError as error:
            raise NoTables(folder, str(error.strerror)) from None
    return tables


def probe_of(tables: chess.syzygy.Tablebase) -> Probe:
    """A way to ask them; positions they can't tell about give None."""

    def probe(board: chess.Board) -> int | None:
        # A table's values hold where the fifty-move count begins anew.
        if board.castling_rights or board.halfmove_clock:
            return None
        value = tables.get_wdl(board)
        if value is None:
            return None
        return (value >= CERTAIN) - (value <= -CERTAIN)

    return probe
