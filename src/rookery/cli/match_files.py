"""The files a match adds to while it is played: its games, and what failing engines said."""

import shlex
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from rookery.worker.match.events import GameEnded
from rookery.worker.match.faults import FileUnusable
from rookery.worker.match.pgn import Tag, pgn
from rookery.worker.match.spec import EngineSpec


class Games:
    """Writes finished games, and what went wrong in those an engine failed."""

    def __init__(
        self, engines: Mapping[str, EngineSpec], games: Path | None, failures: Path, event: str
    ) -> None:
        self._engines = engines
        self._games = games
        self.failures = failures
        self._event = event
        self.failed = 0

    def add(self, ended: GameEnded) -> None:
        game = ended.result
        if self._games is None and not game.failed:
            return
        # Another runner's games come without their moves.
        text = pgn(game, self._tags(ended)) if game.fen else ""
        if self._games is not None:
            _append(self._games, text)
        if game.failed:
            self.failed += 1
            lines = "\n".join(game.lines)
            _append(self.failures, f"{game.failed}: {game.reason}\n\n{text}{lines}\n\n{'-' * 79}\n")

    def _tags(self, ended: GameEnded) -> list[Tag]:
        tags = [
            ("Event", self._event),
            ("Site", "?"),
            ("Date", f"{datetime.now(UTC):%Y.%m.%d}"),
            ("Round", f"{ended.pair + 1}.{ended.game + 1}"),
        ]
        for colour, name in (("White", ended.result.white), ("Black", ended.result.black)):
            if spec := self._engines.get(name):
                tags.extend(_engine_tags(colour, spec))
        return tags


def _engine_tags(colour: str, spec: EngineSpec) -> Iterator[Tag]:
    """What a replay needs to know about a side."""
    yield f"{colour}TimeControl", str(spec.tc)
    yield f"{colour}Command", shlex.join(spec.command)
    yield f"{colour}Options", "; ".join(f"{name}={value}" for name, value in spec.options)


def _append(path: Path, text: str) -> None:
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise FileUnusable(path, error) from None
