"""The search: alpha-beta with iterative deepening, after which every iteration is reported.

Theory of operation. `iterations` deepens ply by ply until its governor says halt. Every position
visited counts as a node; a node limit is kept exactly, so that the same limit gives the same moves
everywhere. Halt is an exception: it leaves the board where it was raised, so the search works on
a copy of its own.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import chess

from rookery.engine.evaluation import DRAW, MATE, MATE_BOUND, Evaluation
from rookery.engine.ordering import (
    Bound,
    Entry,
    Key,
    Memory,
    Table,
    captures,
    decides,
    from_here,
    from_root,
    key_of,
    loses_material,
    ordered,
    promotions,
)
from rookery.engine.settings import Settings, Weights

# When a search must end: at its node limit exactly, by the clock, or because it was told to.

LOOK_EVERY = 8
"""Nodes between two looks at clock and input: about a millisecond."""


class Halt(Exception):
    """the search is over"""


@dataclass(slots=True)
class Governor:
    """One search's limits. `told_to_stop` looks at the input without waiting."""

    clock: Callable[[], float]
    told_to_stop: Callable[[], bool]
    nodes: int | None = None
    soft: float | None = None
    """No new iteration begins after this moment."""
    hard: float | None = None
    """The search ends at this moment."""

    def look(self, nodes: int) -> int:
        """The node at which to look again; raises Halt when there is none."""
        if self.nodes is not None and nodes >= self.nodes:
            raise Halt
        if self.hard is not None and self.clock() >= self.hard:
            raise Halt
        if self.told_to_stop():
            raise Halt
        following = nodes + LOOK_EVERY
        return following if self.nodes is None else min(following, self.nodes)

    def may_go_on(self) -> bool:
        """Whether another iteration is worth its beginning."""
        return self.soft is None or self.clock() < self.soft


# What is left hanging at the end of a line: captures are followed until the position is quiet.

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


DEEPEST = 60
DEEPEST_PLY = 90
NULL_REDUCTION = 3
REDUCED_FROM_MOVE = 4
NULL = chess.Move.null()


@dataclass(frozen=True, slots=True)
class Finding:
    """What an iteration, or the part of it that was finished, has found."""

    depth: int
    score: int
    nodes: int
    line: tuple[chess.Move, ...]


class Search:
    """One search of one position."""

    def __init__(
        self,
        board: chess.Board,
        before: Sequence[Key],
        *,
        evaluate: Evaluation,
        settings: Settings,
        table: Table,
        governor: Governor,
    ) -> None:
        self.nodes = 0
        self._board = board.copy(stack=False)
        self._before = frozenset({*before, key_of(board)})
        self._path = set(self._before)
        self._evaluate = evaluate
        self._quiescence = Quiescence(evaluate, settings.weights) if settings.quiescence else None
        self._table = table
        self._governor = governor
        self._memory = Memory()
        self._next_look = 0

    def iterations(self, moves: Sequence[chess.Move], deepest: int = DEEPEST) -> Iterator[Finding]:
        """One finding per finished iteration, and one for the last, unfinished one if it helps."""
        candidates = list(moves)
        for depth in range(1, min(deepest, DEEPEST) + 1):
            root = _Root(candidates)
            try:
                self._search_root(root, depth)
            except Halt:
                if root.best is not None:
                    yield self._finding(depth, root.score, root.best)
                return
            assert root.best is not None
            yield self._finding(depth, root.score, root.best)
            candidates.remove(root.best)
            candidates.insert(0, root.best)
            if MATE - abs(root.score) <= depth or not self._governor.may_go_on():
                return

    def _search_root(self, root: "_Root", depth: int) -> None:
        board, alpha = self._board, -MATE
        root_position = board.copy(stack=False)
        try:
            for move in root.moves:
                board.push(move)
                score = self._child(depth - 1, alpha, MATE, 1, is_first=root.best is None)
                board.pop()
                if score > alpha or root.best is None:
                    root.best, root.score = move, score
                    alpha = max(alpha, score)
        except Halt:
            # The boards of the line that was left half way are of no use to anybody.
            self._board, self._path = root_position, set(self._before)
            raise
        assert root.best is not None
        entry = Entry(depth, from_here(root.score, 0), Bound.EXACT, root.best)
        self._table.put(key_of(board), entry)

    def _child(
        self, depth: int, alpha: int, beta: int, ply: int, *, is_first: bool, reduction: int = 0
    ) -> int:
        """The score for who just moved; all but the first move must first show they are good."""
        if is_first:
            return -self._visit(depth, -beta, -alpha, ply)
        score = -self._visit(depth - reduction, -alpha - 1, -alpha, ply)
        if score > alpha and (reduction or score < beta):
            score = -self._visit(depth, -beta, -alpha, ply)
        return score

    def _visit(self, depth: int, alpha: int, beta: int, ply: int) -> int:
        """The score of the board's position for its side to move."""
        board = self._board
        key = key_of(board)
        if self._is_drawn(key):
            return DRAW
        in_check = board.is_check()
        if in_check:
            depth += 1
        if depth <= 0 or ply >= DEEPEST_PLY:
            return self._at_the_end(alpha, beta)
        self._count()
        entry = self._table.get(key)
        if entry is not None and entry.depth >= depth:
            score = from_root(entry.score, ply)
            if decides(entry, alpha, beta, score):
                return score
        if not in_check and self._passing_is_enough(depth, beta, ply):
            return beta
        self._path.add(key)
        remembered = None if entry is None else entry.move
        score = self._best_child(key, remembered, depth, alpha, beta, ply, in_check=in_check)
        self._path.discard(key)
        return score

    def _best_child(
        self,
        key: Key,
        remembered: chess.Move | None,
        depth: int,
        alpha: int,
        beta: int,
        ply: int,
        *,
        in_check: bool,
    ) -> int:
        board, best, best_move, lowest = self._board, -MATE, None, alpha
        for number, move in enumerate(ordered(board, remembered, self._memory, ply)):
            quiet = not board.occupied & chess.BB_SQUARES[move.to_square]
            late = quiet and depth >= 3 and number >= REDUCED_FROM_MOVE and not in_check
            board.push(move)
            score = self._child(
                depth - 1, alpha, beta, ply + 1, is_first=number == 0, reduction=int(late)
            )
            board.pop()
            if score > best:
                best, best_move = score, move
                alpha = max(alpha, score)
                if alpha >= beta:
                    if quiet:
                        self._memory.refuted(board, move, ply=ply, depth=depth)
                    break
        if best_move is None:
            return ply - MATE if in_check else DRAW
        bound = Bound.LOWER if best >= beta else Bound.EXACT if best > lowest else Bound.UPPER
        self._table.put(key, Entry(depth, from_here(best, ply), bound, best_move))
        return best

    def _at_the_end(self, alpha: int, beta: int) -> int:
        if self._quiescence is not None:
            return self._quiescence.search(self._board, alpha, beta, self._count)
        self._count()
        return self._evaluate(self._board)

    def _passing_is_enough(self, depth: int, beta: int, ply: int) -> bool:
        """Whether even without a move the side to move is too good for the other one."""
        board = self._board
        if depth < NULL_REDUCTION or abs(beta) > MATE_BOUND or not _has_pieces(board):
            return False
        if (board.move_stack and board.peek() == NULL) or self._evaluate(board) < beta:
            return False
        board.push(NULL)
        score = -self._visit(depth - NULL_REDUCTION, -beta, 1 - beta, ply + 1)
        board.pop()
        return score >= beta

    def _is_drawn(self, key: Key) -> bool:
        board = self._board
        if key in self._path:
            return True
        if board.halfmove_clock >= 100:
            return not board.is_checkmate()
        heavy = board.pawns | board.rooks | board.queens
        return not heavy and board.occupied.bit_count() <= 3

    def _count(self) -> None:
        if self.nodes >= self._next_look:
            self._next_look = self._governor.look(self.nodes)
        self.nodes += 1

    def _finding(self, depth: int, score: int, move: chess.Move) -> Finding:
        return Finding(depth, score, self.nodes, (move, *self._continuation(move, depth)))

    def _continuation(self, move: chess.Move, depth: int) -> Iterator[chess.Move]:
        """The expected line after a move, as far as the table remembers it."""
        board, met = self._board.copy(stack=False), set(self._before)
        for _ in range(depth):
            board.push(move)
            key = key_of(board)
            entry = self._table.get(key)
            if entry is None or entry.move is None or key in met or board.halfmove_clock >= 100:
                return
            met.add(key)
            move = entry.move
            yield move


class _Root:
    """The moves of the root and the best so far; it outlives a halt."""

    def __init__(self, moves: Sequence[chess.Move]) -> None:
        self.moves = tuple(moves)
        self.best: chess.Move | None = None
        self.score = -MATE


def _has_pieces(board: chess.Board) -> bool:
    """Whether the side to move has more than pawns: else passing could be its best."""
    own = board.occupied_co[board.turn]
    return bool(own & (board.knights | board.bishops | board.rooks | board.queens))
