"""Games as a worker uploads them: legal moves drawn at random, with what a runner writes."""

import gzip
import random
from collections.abc import Iterator

import chess

FEN = "rnbqkbnr/pppppppp/8/8/8/4P3/PPPP1PPP/RNBQKBNR b KQkq - 0 1"


def packed_games(number: int, seed: int = 5) -> bytes:
    """A gzip stream of so many games, in pairs of one opening."""
    chance = random.Random(seed)
    texts = (game_text(chance, place) for place in range(number))
    return gzip.compress("".join(texts).encode())


def game_text(chance: random.Random, place: int) -> str:
    new_is_white = place % 2 == 0
    names = ("New-idea", "Base-master") if new_is_white else ("Base-master", "New-idea")
    board = chess.Board(FEN)
    moves = list(_moves(chance, board, 40 + chance.randrange(120), place // 2))
    result = chance.choice(("1-0", "0-1", "1/2-1/2", "1/2-1/2"))
    ending = "time forfeit" if place % 17 == 5 else "adjudication"
    tags = {
        "Event": "Rookery",
        "White": names[0],
        "Black": names[1],
        "Result": result,
        "SetUp": "1",
        "FEN": FEN.replace(" 0 1", f" 0 {1 + place // 2 % 3}"),
        "PlyCount": str(len(moves)),
        "Termination": ending,
    }
    head = "\n".join(f'[{name} "{value}"]' for name, value in tags.items())
    return f"{head}\n\n{' '.join(moves)} {result}\n\n"


def _moves(chance: random.Random, board: chess.Board, most: int, opening: int) -> Iterator[str]:
    first = random.Random(opening)
    for place in range(most):
        legal = sorted(board.legal_moves, key=str)
        if not legal:
            return
        move = (first if place < 4 else chance).choice(legal)
        number = "" if board.turn and place else f"{board.fullmove_number}... " if not place else ""
        prefix = f"{board.fullmove_number}. " if board.turn else number
        san = board.san(move)
        board.push(move)
        score, seconds = chance.gauss(0, 0.6), 0.05 + chance.random() / 3
        nodes = int(seconds * chance.gauss(7e5, 4e4))
        yield f"{prefix}{san} {{{score:+.2f}/{12 + place // 20} {seconds:.3f}s, n={nodes}}}"
