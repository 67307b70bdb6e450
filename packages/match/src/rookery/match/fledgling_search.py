"""The search of Fledgling, the engine in `rookery.match.fledgling`.

Alpha-beta with iterative deepening. Scores are integers, moves of equal value are ordered in a
fixed way, and every visited position counts as a node against an exact limit, so that the same
limit gives the same moves on every machine. A search that must end raises SearchEnded, which leaves
its board in the middle of a line; the search works on its own copy.
"""

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import IntEnum
from itertools import chain
from typing import NamedTuple

import chess

from rookery.match.fledgling_evaluation import (
    Evaluation,
    captures,
    loses_material,
    move_code,
    queen_promotions,
)

# Scores, and the table of searched positions.

MATE = 30_000
MATE_BOUND = MATE - 1_000
"""Scores beyond this one are mates."""
DRAW_SCORE = 0
ENTRIES_PER_MEGABYTE = 1_500
"""A key of ten numbers, an entry and their share of the dictionary take about 650 bytes."""

PositionKey = tuple[int, int, int, int, int, int, int, bool, int, int]


class Bound(IntEnum):
    """How a stored score relates to the true one."""

    EXACT = 0
    LOWER = 1
    UPPER = 2


class SearchedPosition(NamedTuple):
    """The result of searching a position. A mate is counted from that position."""

    depth: int
    score: int
    bound: Bound
    move: chess.Move | None

    def decides(self, alpha: int, beta: int, score: int) -> bool:
        """Whether the score, counted from the root, decides the search with these bounds."""
        if self.bound is Bound.EXACT:
            return True
        return score >= beta if self.bound is Bound.LOWER else score <= alpha


def position_key(board: chess.Board) -> PositionKey:
    """Return a key with the whole position instead of a hash, so that two positions never share
    one."""
    return (
        board.pawns,
        board.knights,
        board.bishops,
        board.rooks,
        board.queens,
        board.kings,
        board.occupied_co[True],
        board.turn,
        board.castling_rights,
        board.ep_square or 0,
    )


def mate_shifted(score: int, plies: int) -> int:
    """Return a mate's score as seen from this many plies further down; other scores stay the
    same."""
    if abs(score) <= MATE_BOUND:
        return score
    return score + plies if score > 0 else score - plies


class GameSoFar:
    """The board that `position` commands describe. Each move is made only once."""

    def __init__(self) -> None:
        self._start = chess.STARTING_FEN
        self._moves: Sequence[str] = ()
        self.board = chess.Board()
        self.before: list[PositionKey] = []
        """The positions since the start, without the present one, to detect repetitions."""

    def set(self, words: Sequence[str], *, chess960: bool) -> None:
        """Apply the words after `position`. Raises ValueError and then changes nothing."""
        fen, moves = _split_position(words)
        known = len(self._moves)
        if (fen, chess960) == (self._start, self.board.chess960) and moves[:known] == self._moves:
            board, before = self.board.copy(), list(self.before)
        else:
            board, before, known = _new_board(fen, chess960=chess960), [], 0
        for text in moves[known:]:
            before.append(position_key(board))
            board.push(board.parse_uci(text))
        self._start, self._moves, self.board, self.before = fen, moves, board, before


def _split_position(words: Sequence[str]) -> tuple[str, Sequence[str]]:
    cut = words.index("moves") if "moves" in words else len(words)
    if words[:1] == ["startpos"]:
        return chess.STARTING_FEN, words[cut + 1 :]
    if words[:1] == ["fen"] and cut > 1:
        return " ".join(words[1:cut]), words[cut + 1 :]
    raise ValueError("`position` takes startpos or fen")


def _new_board(fen: str, *, chess960: bool) -> chess.Board:
    board = chess.Board(fen, chess960=chess960)
    if not (board.kings & board.occupied_co[True] and board.kings & board.occupied_co[False]):
        raise ValueError("each side needs a king")
    return board


KILLER = 1 << 20
PROMOTION = 1 << 21
LOOK_EVERY = 8
"""How many nodes are searched between two checks of clock and input; about a millisecond."""
CAPTURE_MARGIN = 120
"""A capture that leaves the score further below alpha than this is not searched."""
MAX_DEPTH = 60
MAX_PLY = 90
NULL_REDUCTION = 3
REDUCED_FROM_MOVE = 4
NULL_MOVE = chess.Move.null()


class SearchEnded(Exception):
    """A limit, the clock or a `stop` ended the search."""


class Iteration(NamedTuple):
    """The result of one depth, or of its finished part."""

    depth: int
    score: int
    nodes: int
    line: tuple[chess.Move, ...]


class Search:
    """One search of one position. Its limits may be changed while it runs."""

    def __init__(  # noqa: PLR0913 - what a search shares with its engine, made in one place
        self,
        board: chess.Board,
        before: Sequence[PositionKey],
        options: Mapping[str, int],
        evaluate: Evaluation,
        table: dict[PositionKey, SearchedPosition],
        *,
        clock: Callable[[], float],
        is_stopped: Callable[[], bool],
    ) -> None:
        self.nodes = 0
        self.node_limit = sys.maxsize
        self.soft_end = math.inf
        """The time after which no new iteration begins."""
        self.hard_end = math.inf
        self._board = board.copy(stack=False)
        self._before = frozenset({*before, position_key(board)})
        self._path = set(self._before)
        self._follows_captures = bool(options["Quiescence"])
        self._evaluate = evaluate
        self._table = table
        self._table_limit = options["Hash"] * ENTRIES_PER_MEGABYTE
        self._clock = clock
        self._is_stopped = is_stopped
        self._next_look = 0
        self._killers: dict[int, tuple[chess.Move, chess.Move | None]] = {}
        self._history = [0] * 8192

    def iterations(self, moves: Sequence[chess.Move], depths: int) -> Iterator[Iteration]:
        """Yield the result of each finished depth, and of the last unfinished one if it has any."""
        candidates = list(moves)
        for depth in range(1, min(depths, MAX_DEPTH) + 1):
            root = self._board.copy(stack=False)
            best: list[tuple[chess.Move, int]] = []
            try:
                for found in self._root_moves(candidates, depth):
                    best = [found]
            except SearchEnded:
                # The board is in the middle of an interrupted line: go back to the root.
                self._board, self._path = root, set(self._before)
                if best:
                    yield self._iteration(depth, *best[0])
                return
            move, score = best[0]
            self._remember(
                position_key(self._board),
                SearchedPosition(depth, mate_shifted(score, 0), Bound.EXACT, move),
            )
            yield self._iteration(depth, move, score)
            candidates.remove(move)
            candidates.insert(0, move)
            if MATE - abs(score) <= depth or self._clock() >= self.soft_end:
                return

    def _root_moves(
        self, moves: Sequence[chess.Move], depth: int
    ) -> Iterator[tuple[chess.Move, int]]:
        """Each move that is better than those before it, with its score."""
        alpha = -MATE
        for number, move in enumerate(moves):
            self._board.push(move)
            score = self._search_child(depth - 1, alpha, MATE, 1, is_first=number == 0)
            self._board.pop()
            if score > alpha or number == 0:
                alpha = max(alpha, score)
                yield move, score

    def _search_child(
        self, depth: int, alpha: int, beta: int, ply: int, *, is_first: bool, reduction: int = 0
    ) -> int:
        """Return the score for the side that just moved. Later moves first get a null-window
        search."""
        if is_first:
            return -self._search(depth, -beta, -alpha, ply)
        score = -self._search(depth - reduction, -alpha - 1, -alpha, ply)
        if score > alpha and (reduction or score < beta):
            score = -self._search(depth, -beta, -alpha, ply)
        return score

    def _search(self, depth: int, alpha: int, beta: int, ply: int) -> int:
        """Return the score of the present position for the side to move."""
        board = self._board
        key = position_key(board)
        if self._is_drawn(key):
            return DRAW_SCORE
        in_check = board.is_check()
        depth += in_check
        if depth <= 0 or ply >= MAX_PLY:
            return self._search_captures(alpha, beta)
        self._count()
        known = self._table.get(key)
        if known is not None and known.depth >= depth:
            score = mate_shifted(known.score, -ply)
            if known.decides(alpha, beta, score):
                return score
        if not in_check and self._is_passing_enough(depth, beta, ply):
            return beta
        self._path.add(key)
        best, move = self._best_move(known and known.move, depth, alpha, beta, ply, in_check)
        self._path.discard(key)
        if move is None:
            return ply - MATE if in_check else DRAW_SCORE
        bound = Bound.LOWER if best >= beta else Bound.EXACT if best > alpha else Bound.UPPER
        self._remember(key, SearchedPosition(depth, mate_shifted(best, ply), bound, move))
        return best

    def _best_move(
        self,
        remembered: chess.Move | None,
        depth: int,
        alpha: int,
        beta: int,
        ply: int,
        in_check: bool,
    ) -> tuple[int, chess.Move | None]:
        board, best, best_move = self._board, -MATE, None
        for number, move in enumerate(self.ordered_moves(remembered, ply)):
            quiet = not board.occupied & chess.BB_SQUARES[move.to_square]
            late = quiet and depth >= 3 and number >= REDUCED_FROM_MOVE and not in_check
            board.push(move)
            score = self._search_child(
                depth - 1, alpha, beta, ply + 1, is_first=number == 0, reduction=int(late)
            )
            board.pop()
            if score > best:
                best, best_move = score, move
                alpha = max(alpha, score)
                if alpha >= beta:
                    if quiet:
                        self._add_refutation(move, ply, depth)
                    break
        return best, best_move

    def _search_captures(self, alpha: int, beta: int) -> int:
        """Search captures and promotions until the position is quiet."""
        self._count()
        board = self._board
        best = self._evaluate(board)
        if best >= beta or not self._follows_captures:
            return best
        alpha = max(alpha, best)
        floor = alpha - best - CAPTURE_MARGIN
        for move in chain(queen_promotions(board), captures(board)):
            if not self._is_worth_a_search(move, floor):
                continue
            board.push(move)
            score = -self._search_captures(-beta, -alpha)
            board.pop()
            if score > best:
                best = score
                if score >= beta:
                    break
                alpha = max(alpha, score)
        return best

    def _is_worth_a_search(self, capture: chess.Move, floor: int) -> bool:
        if capture.promotion:
            return capture.promotion == chess.QUEEN
        taken = self._board.piece_type_at(capture.to_square) or 0
        return self._evaluate.piece_values[taken] > floor and not loses_material(
            self._board, capture
        )

    def _is_passing_enough(self, depth: int, beta: int, ply: int) -> bool:
        """Whether the side to move would exceed beta even without making a move."""
        board = self._board
        pieces = board.occupied_co[board.turn] & ~board.pawns & ~board.kings
        # With only pawns, passing could be better than any move.
        if depth < NULL_REDUCTION or abs(beta) > MATE_BOUND or not pieces:
            return False
        if (board.move_stack and board.peek() == NULL_MOVE) or self._evaluate(board) < beta:
            return False
        board.push(NULL_MOVE)
        score = -self._search(depth - NULL_REDUCTION, -beta, 1 - beta, ply + 1)
        board.pop()
        return score >= beta

    def _is_drawn(self, key: PositionKey) -> bool:
        board = self._board
        if key in self._path:
            return True
        if board.halfmove_clock >= 100:
            return not board.is_checkmate()
        heavy = board.pawns | board.rooks | board.queens
        return not heavy and board.occupied.bit_count() <= 3

    def ordered_moves(self, remembered: chess.Move | None, ply: int) -> Iterator[chess.Move]:
        """Every legal move once. Moves of later stages are generated only when needed."""
        board = self._board
        if remembered is not None:
            yield remembered
        for move in captures(board):
            if move != remembered:
                yield move
        quiet = list(board.generate_legal_moves(chess.BB_ALL, ~board.occupied_co[not board.turn]))
        quiet.sort(key=lambda move: (self._worth(move, ply) << 15) + move_code(move), reverse=True)
        for move in quiet:
            if move != remembered:
                yield move

    def _worth(self, quiet: chess.Move, ply: int) -> int:
        if quiet.promotion:
            return PROMOTION if quiet.promotion == chess.QUEEN else -1
        if quiet in self._killers.get(ply, ()):
            return KILLER
        return min(self._history[self._history_index(quiet)], KILLER - 1)

    def _add_refutation(self, quiet: chess.Move, ply: int, depth: int) -> None:
        """Note a quiet move that caused a cutoff, so that it is tried earlier from now on."""
        first = self._killers.get(ply, (None, None))[0]
        if first != quiet:
            self._killers[ply] = (quiet, first)
        self._history[self._history_index(quiet)] += depth * depth

    def _history_index(self, move: chess.Move) -> int:
        return self._board.turn << 12 | move.from_square << 6 | move.to_square

    def _remember(self, key: PositionKey, found: SearchedPosition) -> None:
        # Emptied when full, which is simple and the same on every machine.
        if len(self._table) >= self._table_limit:
            self._table.clear()
        self._table[key] = found

    def _count(self) -> None:
        if self.nodes >= self._next_look:
            if self.nodes >= self.node_limit or self._clock() >= self.hard_end:
                raise SearchEnded
            if self._is_stopped():
                raise SearchEnded
            self._next_look = min(self.nodes + LOOK_EVERY, self.node_limit)
        self.nodes += 1

    def _iteration(self, depth: int, move: chess.Move, score: int) -> Iteration:
        return Iteration(depth, score, self.nodes, (move, *self._expected_line(move, depth)))

    def _expected_line(self, move: chess.Move, depth: int) -> Iterator[chess.Move]:
        """Yield the moves after this one, as far as the table has them."""
        board, met = self._board.copy(stack=False), set(self._before)
        for _ in range(depth):
            board.push(move)
            key = position_key(board)
            known = self._table.get(key)
            if known is None or known.move is None or key in met or board.halfmove_clock >= 100:
                return
            met.add(key)
            move = known.move
            yield move
