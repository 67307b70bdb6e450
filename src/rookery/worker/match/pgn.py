"""Writes a game as PGN: what each engine thought, how long it took, how the game ended and why."""

from collections.abc import Iterator, Sequence

import chess

from rookery.worker.match.record import GameResult, Played, Termination

WIDTH = 80
Tag = tuple[str, str]
ROSTER = {
    "Event": "?",
    "Site": "?",
    "Date": "????.??.??",
    "Round": "?",
    "White": "?",
    "Black": "?",
    "Result": "*",
}
"""The tags that every game begins with, in this order, and what they say of the unknown."""


def pgn(game: GameResult, tags: Sequence[Tag] = ()) -> str:
    """The whole game; `tags` say what the game itself does not know (Event, Round, Date)."""
    found = ROSTER | dict(_tags(game)) | dict(tags)
    head = "\n".join(f'[{name} "{_quoted(value)}"]' for name, value in found.items())
    return f"{head}\n\n{_wrapped(_words(game))}\n\n"


def _tags(game: GameResult) -> Iterator[Tag]:
    yield "White", game.white
    yield "Black", game.black
    yield "Result", game.result
    if game.fen != chess.STARTING_FEN:
        yield "SetUp", "1"
        yield "FEN", game.fen
    if game.chess960:
        yield "Variant", "Chess960"
    yield "PlyCount", str(len(game.book_moves) + game.plies)
    yield "GameDuration", f"{game.seconds:.3f}"
    yield "Termination", game.termination.value


def _words(game: GameResult) -> Iterator[str]:
    board = chess.Board(game.fen, chess960=game.chess960)
    book = [Played(move) for move in game.book_moves]
    for place, played in enumerate((*book, *game.moves)):
        # The runner has let nothing pass that is not legal, and that once is enough.
        move = chess.Move.from_uci(played.move)
        if board.turn or not place:
            yield f"{board.fullmove_number}{'.' if board.turn else '...'}"
        yield board.san_and_push(move)
        yield from ("{book}" if place < len(book) else _comment(played)).split()
    reason = game.reason.replace("{", "(").replace("}", ")")
    end = "" if game.termination is Termination.NORMAL else f"{{{reason}}}"
    yield from (*end.split(), game.result)


def _comment(played: Played) -> str:
    score = f"{played.score}/{played.depth} " if played.score else ""
    nodes = f", n={played.nodes}" if played.nodes else ""
    return f"{{{score}{played.seconds:.3f}s{nodes}}}"


def _wrapped(words: Iterator[str]) -> str:
    lines, length = [[""]], 0
    for word in words:
        if length + 1 + len(word) > WIDTH:
            lines.append([])
            length = 0
        lines[-1].append(word)
        length += 1 + len(word)
    return "\n".join(" ".join(line).strip() for line in lines)


def _quoted(text: str) -> str:
    plain = "".join(letter if letter.isprintable() else "?" for letter in text)
    return plain.replace("\\", "\\\\").replace('"', '\\"')
