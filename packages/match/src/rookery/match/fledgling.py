"""Fledgling, a small UCI engine for demonstrations and tests: `python -m rookery.match.fledgling`.

It needs only python-chess and the standard library, and starts fast. With a fixed number of nodes
it plays the same moves on every machine.
"""

import gc
import math
import os
import select
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import pairwise
from time import perf_counter
from typing import Any

import chess

from rookery.core import __version__
from rookery.match.fledgling_evaluation import DEFAULTS, Evaluation, option_lines, with_option
from rookery.match.fledgling_search import (
    ENTRIES_PER_MEGABYTE,
    MATE,
    MATE_BOUND,
    MAX_DEPTH,
    GameSoFar,
    Iteration,
    PositionKey,
    Search,
    SearchedPosition,
    position_key,
)

# Parses `go`: its limits, and how much of the clock a move may take.

EXPECTED_MOVES = 40
"""How many more moves a game is assumed to last. The number is high because Python can be late with
a move."""
STALL_MS = 250
"""A reserve of time: how long a process may have to wait for a processor on a loaded machine."""
GO_NUMBERS = ("wtime", "btime", "winc", "binc", "movestogo", "depth", "nodes", "movetime", "mate")


@dataclass(frozen=True, slots=True)
class GoLimits:
    """The limits in a `go` command; times are in milliseconds."""

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
    def depths(self) -> int:
        if self.mate is not None:
            return max(1, 2 * self.mate)
        return MAX_DEPTH if self.depth is None else max(1, self.depth)


def parse_go(words: Sequence[str]) -> GoLimits:
    """Parse the words after `go`. Unknown words and invalid numbers are ignored."""
    given: dict[str, Any] = {
        word: int(value)
        for word, value in pairwise(words)
        if word in GO_NUMBERS and value.lstrip("-").isdigit()
    }
    moves = words[words.index("searchmoves") + 1 :] if "searchmoves" in words else ()
    limits = GoLimits(
        infinite="infinite" in words,
        ponder="ponder" in words,
        searchmoves=tuple(word for word in moves if len(word) > 3 and word[3].isdigit()),
    )
    return replace(limits, **given)


def allowed_seconds(
    limits: GoLimits, *, white: bool, overhead_ms: int
) -> tuple[float, float] | None:
    """Return the time after which no new iteration begins, and the time when the move is due; None
    without a clock."""
    if limits.movetime is not None:
        seconds = max(1, limits.movetime - min(overhead_ms, limits.movetime // 4)) / 1000
        return seconds, seconds
    time, increment = (limits.wtime, limits.winc) if white else (limits.btime, limits.binc)
    if time is None:
        return None
    left = time - overhead_ms
    usable = max(left - STALL_MS, left / 4, 1)
    moves = min(limits.movestogo or EXPECTED_MOVES, EXPECTED_MOVES)
    aim = usable / moves + increment / 2
    # The last move before a time control may take most of the time, others a quarter at most.
    hard = min(2.5 * aim, usable * (0.8 if moves == 1 else 0.25))
    # An iteration takes longer than all before it, so after half of the time it is too late for
    # another one.
    return min(aim / 2, hard) / 1000, hard / 1000


class InputLines:
    """Lines from a file descriptor. They are read directly, because a buffered reader can't tell
    what it holds."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._rest = b""
        self._lines: deque[str] = deque()
        self.ended = False

    def wait(self) -> str | None:
        """Return the next line; None at the end of the input."""
        while not self._lines and not self.ended:
            self._read()
        return self._lines.popleft() if self._lines else None

    def poll(self) -> str | None:
        """Return the next line if it is already there."""
        while (
            not self._lines and not self.ended and select.select([self._descriptor], [], [], 0)[0]
        ):
            self._read()
        return self._lines.popleft() if self._lines else None

    def put_back(self, lines: Sequence[str]) -> None:
        """Return lines that were taken too early. They come first again."""
        self._lines.extendleft(reversed(lines))

    def _read(self) -> None:
        piece = os.read(self._descriptor, 65536)
        *lines, self._rest = (self._rest + piece).split(b"\n")
        if not piece:
            self.ended = True
            lines, self._rest = [self._rest], b""
        texts = (line.decode("utf-8", "replace").strip() for line in lines)
        self._lines.extend(text for text in texts if text)


def draw_number(seed: int, purpose: str, board: chess.Board) -> int:
    """Return a 64-bit number that depends only on seed, purpose and position, the same in every
    process.

    So a game with noise or blunders can be replayed anywhere and in any order.
    """
    drawn_from = repr((seed, purpose, board.fullmove_number, position_key(board)))
    return int.from_bytes(blake2b(drawn_from.encode(), digest_size=8).digest())


def noisy_nodes(nodes: int, percent: int, chance: int) -> int:
    """Return a node limit, changed at random by up to this many percent either way."""
    return max(1, nodes + nodes * percent * (chance % 2001 - 1000) // 100_000)


def uci_score(score: int) -> str:
    """Return the words after `score` in an info line."""
    if abs(score) <= MATE_BOUND:
        return f"cp {score}"
    moves = (MATE - abs(score) + 1) // 2
    return f"mate {moves if score > 0 else -moves}"


BENCH_DEPTH = 4
BENCH_POSITIONS = (
    chess.STARTING_FEN,
    "r1bq1rk1/pp2bppp/2n1pn2/2pp4/3P1B2/2PBPN2/PP1N1PPP/R2Q1RK1 b - - 4 8",
    "r2q1rk1/1b2bppp/p1nppn2/1p6/3NP3/1BN1B3/PPP1QPPP/2KR3R w - - 2 11",
    "r1b2rk1/2q1bppp/p2ppn2/1p4P1/3QPP2/2N1B3/PPP4P/2KR1B1R b - - 0 14",
    "2r3k1/pp3ppp/4p3/3pP3/1q1P4/5N2/P1Q2PPP/2R3K1 w - - 3 23",
    "8/5pk1/4p1p1/3pP2p/1r1P1P1P/2R3P1/5K2/8 w - - 1 41",
    "8/8/1p1k4/1P1p1p2/P2P1P2/3K4/8/8 b - - 4 50",
    "4r1k1/1b3ppp/8/pp1p4/3P1q2/P1N2P2/1P4PP/R2Q2K1 b - - 0 22",
)


class Fledgling:
    """The engine: carries out UCI commands, one search at a time, and reads the input meanwhile."""

    def __init__(
        self,
        lines: InputLines,
        say: Callable[[str], None],
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        self._lines = lines
        self._say = say
        self._clock = clock
        self._options: Mapping[str, int] = DEFAULTS
        self._has_quit = False
        self._new_game()

    def run(self) -> None:
        """Carry out commands until `quit` or the end of the input."""
        while not self._has_quit and (line := self._lines.wait()) is not None:
            self.obey(line)

    def obey(self, line: str) -> None:
        """Carry out one command. Unknown ones are ignored, as the protocol requires."""
        word, *rest = line.split()
        match word:
            case "uci":
                about = (f"id name Fledgling {__version__}", "id author the Rookery authors")
                for each in (*about, *option_lines(), "uciok"):
                    self._say(each)
            case "isready":
                self._say("readyok")
            case "ucinewgame":
                self._new_game()
                gc.collect()
            case "setoption":
                self._set_option(" ".join(rest))
            case "position":
                self._set_position(rest)
            case "go":
                self._go(parse_go(rest))
            case "bench":
                self._bench()
            case "quit":
                self._has_quit = True

    def _new_game(self) -> None:
        self._game = GameSoFar()
        self._forget()

    def _forget(self) -> None:
        self._evaluate = Evaluation(self._options)
        self._table: dict[PositionKey, SearchedPosition] = {}

    def _set_option(self, words: str) -> None:
        name, _, value = words.removeprefix("name ").partition(" value ")
        try:
            self._options = with_option(self._options, name.strip(), value.strip())
        except ValueError as error:
            self._say(f"info string option {name} not set: {error}")
        else:
            # The search table of other settings is worthless.
            self._forget()

    def _set_position(self, words: Sequence[str]) -> None:
        try:
            self._game.set(words, chess960=bool(self._options["UCI_Chess960"]))
        except ValueError as error:
            self._say(f"info string position not set: {error}")

    def _bench(self) -> None:
        """Do a fixed amount of work, whose node count distinguishes versions."""
        start, nodes = self._clock(), 0
        for fen in BENCH_POSITIONS:
            self._forget()
            search = self._new_search(chess.Board(fen), (), lambda: False)
            moves = list(search.ordered_moves(None, 0))
            nodes += max(found.nodes for found in search.iterations(moves, BENCH_DEPTH))
        self._say(f"{nodes} nodes {int(nodes / max(self._clock() - start, 1e-6))} nps")

    def _new_search(
        self, board: chess.Board, before: Sequence[PositionKey], is_stopped: Callable[[], bool]
    ) -> Search:
        return Search(
            board,
            before,
            self._options,
            self._evaluate,
            self._table,
            clock=self._clock,
            is_stopped=is_stopped,
        )

    def _go(self, limits: GoLimits) -> None:
        """Search and print the best move. An infinite search, or pondering, waits for its end
        first."""
        self._started, self._limits = self._clock(), limits
        self._is_stopped, self._is_pondering, self._later = False, limits.ponder, list[str]()
        board = self._game.board
        self._search = self._new_search(board, self._game.before, self._hears_stop)
        moves = list(self._search.ordered_moves(None, 0))
        moves = [move for move in moves if move.uci() in limits.searchmoves] or moves
        self._set_limits(board, len(moves))
        best = self._find_move(board, moves)
        while (limits.infinite or self._is_pondering) and not self._is_over():
            self._hear(self._lines.wait() or "quit")
        self._lines.put_back(self._later)
        self._say("bestmove (none)" if best is None else f"bestmove {best.uci()}")

    def _set_limits(self, board: chess.Board, choices: int) -> None:
        if self._limits.nodes is not None:
            chance = draw_number(self._options["Seed"], "noise", board)
            percent = self._options["NodeNoise"]
            self._search.node_limit = noisy_nodes(self._limits.nodes, percent, chance)
        if not self._limits.infinite and not self._limits.ponder:
            self._start_clock(self._started)
            if choices == 1 and self._search.soft_end < math.inf:
                # A forced move needs no search.
                self._search.soft_end = self._started

    def _start_clock(self, now: float) -> None:
        overhead, turn = self._options["MoveOverhead"], self._game.board.turn
        if (seconds := allowed_seconds(self._limits, white=turn, overhead_ms=overhead)) is not None:
            self._search.soft_end, self._search.hard_end = now + seconds[0], now + seconds[1]

    def _find_move(self, board: chess.Board, moves: Sequence[chess.Move]) -> chess.Move | None:
        if not moves:
            self._report(Iteration(0, -MATE if board.is_check() else 0, 0, ()))
            return None
        best = None
        for found in self._search.iterations(moves, self._limits.depths):
            self._report(found)
            best = found.line[0]
        if best is None:
            best = moves[0]
            self._report(Iteration(1, self._evaluate(board), self._search.nodes, (best,)))
        seed = self._options["Seed"]
        if draw_number(seed, "blunder", board) % 100 < self._options["Blunder"]:
            return moves[draw_number(seed, "blundered move", board) % len(moves)]
        return best

    def _report(self, found: Iteration) -> None:
        seconds = max(self._clock() - self._started, 1e-6)
        full = 1000 * len(self._table) // (self._options["Hash"] * ENTRIES_PER_MEGABYTE)
        line = " ".join(move.uci() for move in found.line)
        self._say(
            f"info depth {found.depth} score {uci_score(found.score)} nodes {found.nodes}"
            f" nps {int(found.nodes / seconds)} hashfull {full}"
            f" time {int(seconds * 1000)}" + (f" pv {line}" if line else "")
        )

    def _hears_stop(self) -> bool:
        while not self._is_over() and (line := self._lines.poll()) is not None:
            self._hear(line)
        return self._is_over()

    def _is_over(self) -> bool:
        return self._is_stopped or self._has_quit or self._lines.ended

    def _hear(self, line: str) -> None:
        """Carry out commands that are allowed during a search at once, and keep the others until
        after it."""
        match line.split(maxsplit=1)[0]:
            case "isready":
                self._say("readyok")
            case "ponderhit" if self._is_pondering:
                # The opponent has played the expected move, so the clock counts from now on.
                self._is_pondering = False
                self._start_clock(self._clock())
            case "ponderhit":
                pass
            case "stop":
                self._is_stopped = True
            case "quit":
                self._has_quit = True
            case _:
                self._later.append(line)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the engine. Words on the command line are one UCI command to carry out."""
    words = sys.argv[1:] if arguments is None else arguments
    # A garbage collection would interrupt a search; memory is collected between games instead.
    gc.disable()
    engine = Fledgling(InputLines(sys.stdin.fileno()), _say)
    try:
        if words:
            engine.obey(" ".join(words))
        else:
            engine.run()
    except (BrokenPipeError, KeyboardInterrupt):
        # The reader has ended: exit without an error and without a last flush.
        sys.stderr.close()
    return 0


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
