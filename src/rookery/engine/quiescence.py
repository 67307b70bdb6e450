"""What is left hanging at the end of a line: captures are followed until the position is quiet."""

from collections.abc import Callable
from itertools import chain

import chess

from rookery.engine.evaluation import Evaluation
from rookery.engine.ordering import captures, loses_material, promotions
from rookery.engine.settings import Weights

MARGIN = 120
"""A capture that does not lift the score so near to alpha is not worth a look."""


class Quiescence:
    """Searches captures and promotions from one board; tells each visited node to its owner."""

    def __init__(self, evaluate: Evaluation, weights: Weights) -> None:
        self._evaluate = evaluate
        pieces = (weights.pawn, weights.knight, weights.bishop, weights.rook, weights.queen)
        self._worth = (0, *pieces, 0)

    def search(self, board: chess.Board, alpha: int, beta: int, visit: Callable[[], None]) -> int:
        visit()
        best = self._evaluate(board)
        if best >= beta:
            return best
        alpha = max(alpha, best)
        floor = alpha - best - MARGIN
        for move in chain(promotions(board), captures(board)):
            if not self._is_worth_it(board, move, floor):
                continue
            board.push(move)
            score = -self.search(board, -beta, -alpha, visit)
            board.pop()
            if score > best:
                best = score
                if score >= beta:
                    break
                alpha = max(alpha, score)
        return best

    def _is_worth_it(self, board: chess.Board, move: chess.Move, floor: int) -> bool:
        if move.promotion:
            return move.promotion == chess.QUEEN
        taken = self._worth[board.piece_type_at(move.to_square) or 0]
        return taken > floor and not loses_material(board, move)
