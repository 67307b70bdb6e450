"""Plays a recorded game again, move by move, and finds where an engine now decides differently."""

from dataclasses import dataclass
from pathlib import Path

import chess.pgn

from rookery.core.boundary.offload import Threads
from rookery.match.clock import SideClock, go_line
from rookery.match.job import EngineSpec, EngineTimeouts, MatchFault
from rookery.match.position import Position
from rookery.match.uci import UciEngine

BOOK = "book"


@dataclass(frozen=True, slots=True)
class RecordedGame:
    """A game as recorded in a file. The first `book` moves belong to the opening."""

    fen: str
    moves: tuple[str, ...]
    book: int
    chess960: bool
    tags: dict[str, str]


@dataclass(frozen=True, slots=True)
class ReplayDifference:
    """The first move that an engine does not play again."""

    ply: int
    engine: str
    recorded: str
    now: str
    fen: str


def read_recorded(path: Path, number: int) -> RecordedGame:
    """Return the game with this number, counted from 1. Raise MatchFault."""
    with path.open(encoding="utf-8", errors="replace") as file:
        for _ in range(number - 1):
            if not chess.pgn.skip_game(file):
                raise MatchFault(f"{path} has no game {number}.")
        game = chess.pgn.read_game(file)
    if game is None:
        raise MatchFault(f"{path} has no game {number}.")
    nodes = list(game.mainline())
    if not nodes:
        # The reader accepts any text, and gives a game without moves if it is not PGN.
        raise MatchFault(f"Game {number} of {path} has no moves: is it a PGN file?")
    board = game.board()
    moves = tuple(node.parent.board().uci(node.move) for node in nodes)
    book = sum(node.comment.strip() == BOOK for node in nodes)
    tags = {name: _plain(value) for name, value in game.headers.items()}
    return RecordedGame(board.fen(), moves, book, board.chess960, tags)


def _plain(value: str) -> str:
    """Return a tag's value without escapes, which the reader leaves in."""
    return value.replace('\\"', '"').replace("\\\\", "\\")


async def replay_game(
    game: RecordedGame, white: EngineSpec, black: EngineSpec
) -> ReplayDifference | None:
    """Ask each engine for each of its moves again. None if all are the same."""
    threads = Threads()
    engines = tuple(UciEngine(spec, EngineTimeouts(), threads) for spec in (black, white))
    try:
        for engine in engines:
            await engine.prepare(engine.spec, chess960=game.chess960)
            await engine.new_game()
        return await _first_difference(game, engines)
    finally:
        for engine in engines:
            await engine.quit()


async def _first_difference(
    game: RecordedGame, engines: tuple[UciEngine, ...]
) -> ReplayDifference | None:
    position = Position(game.fen, chess960=game.chess960)
    for ply, recorded in enumerate(game.moves):
        if ply >= game.book:
            engine = engines[position.white_to_move]
            clock = SideClock(engine.spec.time_control, margin_ms=0)
            engine.start_search(position.uci_command(), go_line(clock, clock, clock))
            answer = await engine.read_move(clock.wait_seconds)
            if answer.move != recorded:
                fen = position.board.fen()
                return ReplayDifference(ply + 1, engine.spec.name, recorded, answer.move, fen)
        position.play(recorded)
    return None
