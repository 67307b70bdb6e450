"""The pawn structure: doubled, isolated and passed pawns, remembered because it changes rarely."""

import chess

from rookery.engine.settings import Weights
from rookery.engine.squares import pack

MOST_REMEMBERED = 20_000
NEIGHBOURS = tuple(
    (chess.BB_FILES[file - 1] if file > 0 else 0) | (chess.BB_FILES[file + 1] if file < 7 else 0)
    for file in range(8)
)


def _ahead(square: int, *, white: bool) -> int:
    """The squares in front of a pawn on its own and the neighbouring files."""
    ranks = range((square >> 3) + 1, 8) if white else range(square >> 3)
    files = chess.BB_FILES[square & 7] | NEIGHBOURS[square & 7]
    return files & sum(chess.BB_RANKS[rank] for rank in ranks)


AHEAD = (
    tuple(_ahead(square, white=False) for square in range(64)),
    tuple(_ahead(square, white=True) for square in range(64)),
)


class PawnStructure:
    """Scores the pawns alone, from White's point of view, packed."""

    def __init__(self, weights: Weights) -> None:
        self._doubled = pack(-weights.doubled_pawn, -weights.doubled_pawn * 3 // 2)
        self._isolated = pack(-weights.isolated_pawn, -weights.isolated_pawn)
        self._passed = tuple(
            pack(weights.passed_pawn * rank * rank // 8, weights.passed_pawn * rank * rank // 4)
            for rank in range(8)
        )
        self._known: dict[tuple[int, int], int] = {}

    def score(self, white: int, black: int) -> int:
        known = self._known.get((white, black))
        if known is None:
            if len(self._known) >= MOST_REMEMBERED:
                self._known.clear()
            known = self._side(white, black, white=True) - self._side(black, white, white=False)
            self._known[white, black] = known
        return known

    def _side(self, own: int, other: int, *, white: bool) -> int:
        score = 0
        for file in range(8):
            count = (own & chess.BB_FILES[file]).bit_count()
            if count > 1:
                score += (count - 1) * self._doubled
            if count and not own & NEIGHBOURS[file]:
                score += count * self._isolated
        for square in chess.scan_forward(own):
            if not other & AHEAD[white][square]:
                score += self._passed[square >> 3 if white else 7 - (square >> 3)]
        return score
