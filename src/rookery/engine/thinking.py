"""From `go` to `bestmove`: limits and clock around a search, and an ear for the input meanwhile."""

import os
import select
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import chess

from rookery.engine.evaluation import MATE, Evaluation, as_uci
from rookery.engine.ordering import Key, Memory, Table, draw, key_of, noisy, ordered
from rookery.engine.search import DEEPEST, Finding, Governor, Search
from rookery.engine.settings import Settings

# Lines from stdin: waited for between searches, looked for without waiting during one.


class Inbox:
    """Reads a file descriptor itself, because a buffered reader can't be asked what it holds."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._rest = b""
        self._lines: deque[str] = deque()
        self.ended = False

    def wait(self) -> str | None:
        """The next line; None when there will be none."""
        while not self._lines and not self.ended:
            self._read()
        return self._lines.popleft() if self._lines else None

    def look(self) -> str | None:
        """The next line if it is there already."""
        while not self._lines and not self.ended and self._is_readable():
            self._read()
        return self._lines.popleft() if self._lines else None

    def put_back(self, lines: Sequence[str]) -> None:
        """Lines that were taken out too early come again first."""
        self._lines.extendleft(reversed(lines))

    def _is_readable(self) -> bool:
        return bool(select.select([self._descriptor], [], [], 0)[0])

    def _read(self) -> None:
        piece = os.read(self._descriptor, 65536)
        *lines, self._rest = (self._rest + piece).split(b"\n")
        if not piece:
            self.ended = True
            lines, self._rest = [self._rest], b""
        self._lines.extend(
            text for line in lines if (text := line.decode("utf-8", "replace").strip())
        )


# The words of `go`: what they limit, and how much of the clock a move may take.

NUMBERS = (
    "wtime",
    "btime",
    "winc",
    "binc",
    "movestogo",
    "depth",
    "nodes",
    "movetime",
    "mate",
)
EXPECTED_MOVES = 40
"""How many moves the rest of a game is taken to last: many, because Python's moves can be late."""

STALL_MS = 250
"""How long a process may have to wait for its turn on a loaded machine: kept in reserve."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Times in milliseconds."""

    wtime: int | None = None
    btime: int | None = None
    winc: int = 0
    binc: int = 0
    movestogo: int | None = None
    depth: int | None = None
    nodes: int | None = None
    movetime: int | None = None
    mate: int | None = None
    infinite: bool = False
    ponder: bool = False
    searchmoves: tuple[str, ...] = ()

    @property
    def is_open(self) -> bool:
        """Whether the answer has to wait for a `stop` or a `ponderhit`."""
        return self.infinite or self.ponder


@dataclass(frozen=True, slots=True)
class Allowance:
    """How long a move may take: no new iteration after `soft`, the end at `hard` (seconds)."""

    soft: float
    hard: float


def parse_go(words: Sequence[str]) -> Limits:
    """Read the words after `go`; what is unknown or no number is passed over."""
    given: dict[str, Any] = {}
    for word, value in pairwise(words):
        if word in NUMBERS and value.lstrip("-").isdigit():
            given[word] = int(value)
    limits = Limits(
        infinite="infinite" in words, ponder="ponder" in words, searchmoves=_searchmoves(words)
    )
    return replace(limits, **given)


def allowance(limits: Limits, *, white: bool, overhead_ms: int) -> Allowance | None:
    """The time for one move; None without a clock."""
    if limits.movetime is not None:
        seconds = max(1, limits.movetime - min(overhead_ms, limits.movetime // 4)) / 1000
        return Allowance(seconds, seconds)
    time, increment = (limits.wtime, limits.winc) if white else (limits.btime, limits.binc)
    if time is None:
        return None
    usable = _usable(time - overhead_ms)
    moves = min(limits.movestogo or EXPECTED_MOVES, EXPECTED_MOVES)
    aim = usable / moves + increment / 2
    # The last move before a time control may take most of what there is, others a quarter at most.
    hard = min(2.5 * aim, usable * (0.8 if moves == 1 else 0.25))
    # An iteration takes longer than all before it: after half the time it is too late for another.
    return Allowance(min(aim / 2, hard) / 1000, hard / 1000)


def _usable(left: int) -> float:
    """What may be planned with: a loaded machine takes some away at once and without a warning."""
    return max(left - STALL_MS, left / 4, 1)


def _searchmoves(words: Sequence[str]) -> tuple[str, ...]:
    if "searchmoves" not in words:
        return ()
    rest = words[words.index("searchmoves") + 1 :]
    stop = next((i for i, word in enumerate(rest) if not _is_move(word)), len(rest))
    return tuple(rest[:stop])


def _is_move(word: str) -> bool:
    return 4 <= len(word) <= 5 and word[1].isdigit() and word[3].isdigit()


# The position that a `position` command describes, and the positions before it.


class BadPosition(ValueError):
    """the position makes no sense"""


class Position:
    """A board that follows a game: moves that were there before are not played again."""

    def __init__(self) -> None:
        self._start: str | None = None
        self._moves: list[str] = []
        self.board = chess.Board()
        self.before: list[Key] = []
        """The positions since the start, for repetitions; the present one is not among them."""

    def set(self, words: Sequence[str], *, chess960: bool) -> None:
        """Follow the words after `position`; raises BadPosition and then keeps what it had."""
        fen, moves = _split(words)
        if fen != self._start or chess960 != self.board.chess960 or not self._leads_to(moves):
            board, before, known = _set_up(fen, chess960=chess960), [], 0
        else:
            board, before, known = self.board.copy(), list(self.before), len(self._moves)
        for text in moves[known:]:
            before.append(key_of(board))
            _play(board, text)
        self._start, self._moves, self.board, self.before = fen, list(moves), board, before

    def _leads_to(self, moves: Sequence[str]) -> bool:
        return list(moves[: len(self._moves)]) == self._moves


def _split(words: Sequence[str]) -> tuple[str, Sequence[str]]:
    cut = words.index("moves") if "moves" in words else len(words)
    kind, moves = words[:1], words[cut + 1 :]
    if kind == ["startpos"]:
        return chess.STARTING_FEN, moves
    if kind == ["fen"] and cut > 1:
        return " ".join(words[1:cut]), moves
    raise BadPosition("`position` wants startpos or fen")


def _set_up(fen: str, *, chess960: bool) -> chess.Board:
    try:
        board = chess.Board(fen, chess960=chess960)
    except ValueError as error:
        raise BadPosition(str(error)) from error
    if not (board.kings & board.occupied_co[True] and board.kings & board.occupied_co[False]):
        raise BadPosition("each side needs a king")
    return board


def _play(board: chess.Board, text: str) -> None:
    try:
        board.push(board.parse_uci(text))
    except ValueError as error:
        raise BadPosition(str(error)) from error


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
