"""Invents files of a farm: games of legal moves, logs of failures, and uploads."""

import gzip
import hashlib
from collections.abc import Iterator
from random import Random

import chess

from rookery.core.model.events import Event
from rookery.core.model.run import Run

START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
OPENING_PLIES = 8
LONGEST = 160
ENDINGS = ("adjudication", "adjudication", "adjudication", "normal", "time forfeit")
WORDS = ("New", "Base")
DECIDED = ("1-0", "0-1")
RESULTS = (*DECIDED, "1/2-1/2", "1/2-1/2", "1/2-1/2")
ORDINARY_LINES = (
    "Worker version 325, 16 cores, Linux 6.1.0-26-amd64",
    "Verify the bench of both sides ...",
    "Playing with fastchess, 8 games at a time",
)


def invent_games(chance: Random, run: Run, number: int) -> bytes:
    """Invent `number` games of a run, in pairs with the same opening, compressed as a worker sends
    them."""
    texts = (_invent_game(chance, run, place) for place in range(number))
    return gzip.compress("".join(texts).encode(), 4, mtime=0)


def _invent_game(chance: Random, run: Run, place: int) -> str:
    sides = zip(WORDS, run.plan.sides, strict=True)
    new, base = (f"{word}-{side.commit[:10]}" for word, side in sides)
    white, black = (new, base) if place % 2 == 0 else (base, new)
    board = _play_opening(place // 2)
    begun = board.fen()
    moves = list(_play(chance, board, chance.randint(40, LONGEST)))
    result = chance.choice(RESULTS)
    tags = {
        "Event": run.id,
        "Round": str(place // 2 + 1),
        "White": white,
        "Black": black,
        "Result": result,
        "FEN": begun,
        "SetUp": "1",
        "PlyCount": str(len(moves)),
        # A loss on time is never a draw.
        "Termination": chance.choice(ENDINGS if result in DECIDED else ENDINGS[:-1]),
        "TimeControl": run.plan.tc,
    }
    head = "\n".join(f'[{name} "{value}"]' for name, value in tags.items())
    return f"{head}\n\n{' '.join(moves)} {result}\n\n"


def _play_opening(number: int) -> chess.Board:
    """Return the position after the opening of a pair, the same for both games."""
    board, chance = chess.Board(START), Random(number)  # noqa: S311 - no secret
    for _ in range(OPENING_PLIES):
        board.push(chance.choice(_list_moves(board)))
    return board


def _play(chance: Random, board: chess.Board, most: int) -> Iterator[str]:
    """Yield moves with the comments that a match runner adds: score, depth, time and nodes."""
    score = 0.0
    for ply in range(most):
        legal = _list_moves(board)
        if not legal:
            return
        move = max(chance.sample(legal, min(4, len(legal))), key=lambda each: _weigh(board, each))
        number = f"{board.fullmove_number}. " if board.turn else ""
        if not ply and not board.turn:
            number = f"{board.fullmove_number}... "
        san = board.san(move)
        board.push(move)
        score = -(0.9 * score + chance.gauss(0, 0.2))
        seconds = 0.05 + chance.random() / 3
        nodes = int(seconds * chance.gauss(7e5, 4e4))
        yield f"{number}{san} {{{score:+.2f}/{12 + ply // 20} {seconds:.3f}s, n={nodes}}}"


def _list_moves(board: chess.Board) -> list[chess.Move]:
    return sorted(board.legal_moves, key=chess.Move.uci)


def _weigh(board: chess.Board, move: chess.Move) -> int:
    """Return the weight of a move: captures weigh most, so that the board empties."""
    taken = board.piece_at(move.to_square)
    return taken.piece_type if taken else 0


def invent_log(failure: Event) -> str:
    """Return the log that a worker writes about a task that failed."""
    return "\n".join(
        (*ORDINARY_LINES, f"Traceback: {failure.message}", "The task is given up.", "")
    )


def invent_net(chance: Random) -> tuple[str, bytes]:
    """Return a small net and its file name, which contains its hash."""
    weights = chance.randbytes(24_000)
    return f"nn-{hashlib.sha256(weights).hexdigest()[:12]}.nnue", weights


def invent_book(first: int, openings: int) -> bytes:
    """Return a book of `openings` legal positions."""
    boards = (_play_opening(first + number) for number in range(openings))
    return "".join(f"{board.epd()}\n" for board in boards).encode()


def invent_program(chance: Random) -> bytes:
    """Return a file that begins like a program but does nothing."""
    return b"\x7fELF" + chance.randbytes(8_000)
