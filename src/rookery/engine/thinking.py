"""From `go` to `bestmove`: limits and clock around a search, and an ear for the input meanwhile."""

from collections.abc import Callable, Sequence

import chess

from rookery.engine.chance import draw, noisy
from rookery.engine.evaluation import Evaluation
from rookery.engine.governor import Governor
from rookery.engine.inbox import Inbox
from rookery.engine.limits import Limits, allowance
from rookery.engine.ordering import Memory, ordered
from rookery.engine.position import Position
from rookery.engine.scores import MATE, as_uci
from rookery.engine.search import DEEPEST, Finding, Search
from rookery.engine.settings import Settings
from rookery.engine.transposition import Table, key_of

NODE_NOISE, BLUNDER, BLUNDERED_MOVE = range(3)


class Thinker:
    """Keeps what it learned from move to move of one game."""

    def __init__(
        self,
        settings: Settings,
        inbox: Inbox,
        say: Callable[[str], None],
        clock: Callable[[], float],
    ) -> None:
        self._settings = settings
        self._inbox = inbox
        self._say = say
        self._clock = clock
        self._evaluate = Evaluation(settings.weights)
        self._table = Table(settings.hash_megabytes)
        self._governor = Governor(clock, lambda: False)
        self._ponderhit: Callable[[], None] = _nothing
        self._later: list[str] = []
        self._stopped = False
        self.told_to_quit = False

    def think(self, position: Position, limits: Limits) -> None:
        """Search and say the best move; an open search waits for the word to end."""
        started = self._clock()
        self._stopped = False
        moves = _root_moves(position.board, limits.searchmoves)
        self._governor = self._limited(position.board, limits, started, len(moves))
        self._ponderhit = lambda: self._start_clock(position.board, limits)
        best = self._search(position, limits, moves, started)
        while self._is_open(limits):
            self._hear(self._inbox.wait() or "quit")
        self._inbox.put_back(self._later)
        self._later = []
        self._say("bestmove (none)" if best is None else f"bestmove {best.uci()}")

    def _search(
        self, position: Position, limits: Limits, moves: list[chess.Move], started: float
    ) -> chess.Move | None:
        board = position.board
        if not moves:
            self._report(Finding(0, -MATE if board.is_check() else 0, 0, ()), started)
            return None
        search = Search(
            board,
            position.before,
            evaluate=self._evaluate,
            settings=self._settings,
            table=self._table,
            governor=self._governor,
        )
        best = None
        for finding in search.iterations(moves, _deepest(limits)):
            self._report(finding, started)
            best = finding.line[0]
        if best is None:
            best = moves[0]
            self._report(Finding(1, self._evaluate(board), search.nodes, (best,)), started)
        return self._blundered(board, moves) or best

    def _limited(
        self, board: chess.Board, limits: Limits, started: float, choices: int
    ) -> Governor:
        nodes = limits.nodes
        if nodes is not None and self._settings.node_noise:
            nodes = noisy(nodes, self._settings.node_noise, self._draw(board, NODE_NOISE))
        governor = Governor(self._clock, self._told_to_stop, nodes)
        time = allowance(limits, white=board.turn, overhead_ms=self._settings.overhead_ms)
        if time is not None and not limits.is_open:
            # A forced move needs no thought.
            governor.soft = started + (time.soft if choices > 1 else 0)
            governor.hard = started + time.hard
        return governor

    def _start_clock(self, board: chess.Board, limits: Limits) -> None:
        """The move pondered on was played: from now on the clock counts."""
        time = allowance(limits, white=board.turn, overhead_ms=self._settings.overhead_ms)
        if time is not None:
            now = self._clock()
            self._governor.soft, self._governor.hard = now + time.soft, now + time.hard

    def _is_open(self, limits: Limits) -> bool:
        if self._is_over():
            return False
        return limits.infinite or (limits.ponder and self._ponderhit is not _nothing)

    def _told_to_stop(self) -> bool:
        while not self._is_over() and (line := self._inbox.look()) is not None:
            self._hear(line)
        return self._is_over()

    def _is_over(self) -> bool:
        return self._stopped or self.told_to_quit or self._inbox.ended

    def _hear(self, line: str) -> None:
        """What may be said during a search is heeded at once, the rest after it."""
        word = line.split(maxsplit=1)[0]
        if word == "isready":
            self._say("readyok")
        elif word == "ponderhit":
            self._ponderhit()
            self._ponderhit = _nothing
        elif word == "stop":
            self._stopped = True
        elif word == "quit":
            self.told_to_quit = True
        else:
            self._later.append(line)

    def _report(self, finding: Finding, started: float) -> None:
        seconds = max(self._clock() - started, 1e-6)
        line = " ".join(move.uci() for move in finding.line)
        self._say(
            f"info depth {finding.depth} score {as_uci(finding.score)} nodes {finding.nodes}"
            f" nps {int(finding.nodes / seconds)} hashfull {self._table.permille_full()}"
            f" time {int(seconds * 1000)}" + (f" pv {line}" if line else "")
        )

    def _blundered(self, board: chess.Board, moves: Sequence[chess.Move]) -> chess.Move | None:
        if self._draw(board, BLUNDER) % 100 >= self._settings.blunder:
            return None
        return moves[self._draw(board, BLUNDERED_MOVE) % len(moves)]

    def _draw(self, board: chess.Board, purpose: int) -> int:
        return draw(self._settings.seed, purpose, key_of(board), board.fullmove_number)


def _nothing() -> None:
    pass


def _deepest(limits: Limits) -> int:
    if limits.mate is not None:
        return max(1, 2 * limits.mate)
    return DEEPEST if limits.depth is None else max(1, limits.depth)


def _root_moves(board: chess.Board, wanted: Sequence[str]) -> list[chess.Move]:
    """The legal moves, likely ones first, in an order that is the same everywhere."""
    moves = list(ordered(board, None, Memory(), 0))
    return [move for move in moves if move.uci() in wanted] or moves
