"""The games of a task as PGN, and what is worth telling about those that went wrong."""

import gzip
import io
import re
from collections import Counter
from pathlib import Path

from rookery.protocol.fields import LONGEST_MESSAGE
from rookery.worker.match.events import GameEnded
from rookery.worker.match.pgn import pgn
from rookery.worker.match.record import Termination
from rookery.worker.session.assignment import Assignment

LARGEST = 100 * 2**20
_COMMENT = re.compile(r"\s*\{[^}]*\}")


class GameFile:
    """Written game by game, in threads but by one at a time; packed once at the end."""

    def __init__(self, file: Path, task: Assignment, server: str) -> None:
        self.file = file
        self._detail = task.args.pgn_detail or "full"
        self._stem = f"{task.name.run}-{task.name.task}.pgn"
        self._tags = [
            ("Event", f"Batch {task.name.task}: {task.args.new_tag} vs {task.args.base_tag}"),
            ("Site", f"{server}/tests/view/{task.name.run}"),
        ]
        self._size = 0

    def add(self, ended: GameEnded) -> None:
        """A game of fastchess has no moves here: it writes its own file."""
        if self._detail == "none" or not ended.result.fen or self._size > LARGEST:
            return
        text = pgn(ended.result, [*self._tags, ("Round", f"{ended.pair + 1}.{ended.game + 1}")])
        if self._detail == "moves":
            text = _COMMENT.sub("", text)
        self._size += len(text)
        try:
            with self.file.open("a", encoding="utf-8") as file:
                file.write(text)
        except OSError:
            # The results are worth more than the moves: a full disk ends the record, not the task.
            self._size = LARGEST + 1

    def packed(self) -> bytes | None:
        """All games in gzip, with a file name inside; None where there are none."""
        if not self.file.exists():
            return None
        into = io.BytesIO()
        with (
            self.file.open("rb") as file,
            gzip.GzipFile(self._stem, "wb", fileobj=into) as pack,
        ):
            while block := file.read(2**20):
                pack.write(block)
        return into.getvalue()


class Mishaps:
    """Engines' failures in games: the first of a kind is told, then the 2nd, 4th, 8th and so on."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, Termination]] = Counter()

    def noted(self, ended: GameEnded) -> str:
        """What to tell the server; empty for nothing."""
        game = ended.result
        if not game.failed:
            return ""
        self._counts[game.failed, game.termination] += 1
        count = self._counts[game.failed, game.termination]
        if count & (count - 1):
            return ""
        where = f"pair {ended.pair + 1}, game {ended.game + 1}"
        head = f"{game.failed} lost by {game.termination.value} for the {_ordinal(count)} time"
        lines = "\n".join(game.lines)
        moves = " ".join(played.move for played in game.moves)
        text = f"{head} ({where}): {game.reason}\n{lines}\n{game.fen} {moves}"
        return text[:LONGEST_MESSAGE]


def _ordinal(count: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(count % 10 if count % 100 not in (11, 12, 13) else 0)
    return f"{count}{ending or 'th'}"
