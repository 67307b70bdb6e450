"""What one call of fastchess is to play."""

from dataclasses import dataclass
from pathlib import Path

from rookery.core.timecontrol import Clock, MoveTime, TimeControl

SHORTEST_SECONDS = 0.001
"""It counts whole milliseconds, and takes none for no limit at all."""
SLOWEST_NPS = 10_000.0
SILENCE_SECONDS = 3600.0


class Unspeakable(ValueError):
    """fastchess can't be told this"""


@dataclass(frozen=True, slots=True)
class Side:
    """One engine: what to start, under which limits, with which options."""

    name: str
    program: Path
    """An absolute path: fastchess does not look on the PATH."""
    tc: TimeControl
    arguments: tuple[str, ...] = ()
    options: tuple[tuple[str, str], ...] = ()
    directory: Path | None = None
    time_margin_ms: int | None = None

    def __post_init__(self) -> None:
        if not self.name or any(sign in self.name for sign in "(){}\n") or " vs " in self.name:
            raise Unspeakable(f"an engine's name that its output would garble: {self.name!r}")
        if not self.program.is_absolute():
            raise Unspeakable(f"a program without its whole path: {self.program}")
        if any(set(word) & set(" \t\n\"'") or not word for word in self.arguments):
            raise Unspeakable(f"engine arguments with blanks or quotes: {self.arguments!r}")
        if wrong := [name for name, value in self.options if not value or "=" in name or not name]:
            raise Unspeakable(f"options without a value or with an odd name: {', '.join(wrong)}")
        if _seconds(self.tc) < SHORTEST_SECONDS:
            raise Unspeakable(f"less than a millisecond: {self.tc}")


@dataclass(frozen=True, slots=True)
class Openings:
    """The book, and where in its order to begin (from 1). Without a seed: the book's own order."""

    file: Path
    seed: int | None
    start: int = 1
    plies: int | None = None

    def __post_init__(self) -> None:
        if self.file.suffix not in (".epd", ".pgn"):
            raise Unspeakable(f"a book that is neither .epd nor .pgn: {self.file.name}")
        if self.start < 1 or not (self.seed is None or 0 <= self.seed < 2**64):
            raise Unspeakable(f"openings from {self.start} on, shuffled by {self.seed}")


@dataclass(frozen=True, slots=True)
class Resign:
    """A side whose own scores were so bad for so many of its moves has lost."""

    moves: int = 3
    score: int = 600
    two_sided: bool = False


@dataclass(frozen=True, slots=True)
class Draw:
    """From a full move on, scores so near to zero for so many moves of both sides are a draw."""

    from_move: int = 34
    moves: int = 8
    score: int = 20


@dataclass(frozen=True, slots=True)
class Tablebases:
    """Adjudicate with up to so many men; where each side has its whole Syzygy set."""

    folders: tuple[Path, ...]
    men: int

    def __post_init__(self) -> None:
        if any(":" in str(folder) for folder in self.folders):
            raise Unspeakable("tablebases in a folder with a colon in its name")


@dataclass(frozen=True, slots=True)
class Pgn:
    """Where games are written, and what names their event and site."""

    file: Path
    event: str = "?"
    site: str = "?"

    def __post_init__(self) -> None:
        # What begins with a dash would be the next option.
        if self.event.startswith("-") or self.site.startswith("-"):
            raise Unspeakable(f"an event or site with a dash in front: {self.event}, {self.site}")


@dataclass(frozen=True, slots=True)
class Invocation:
    """A match in game pairs between the first side and the others."""

    sides: tuple[Side, ...]
    pairs: int
    concurrency: int = 1
    openings: Openings | None = None
    resign: Resign | None = None
    draw: Draw | None = None
    tablebases: Tablebases | None = None
    most_moves: int | None = None
    chess960: bool = False
    round_robin: bool = False
    pgn: Pgn | None = None
    report_every: int = 1
    """Pairs between two reports of score and pentanomial."""

    def __post_init__(self) -> None:
        names = [side.name for side in self.sides]
        if len(names) < 2 or len(set(names)) < len(names):
            raise Unspeakable(f"at least two engines with names of their own: {names}")
        if self.pairs < 1 or self.concurrency < 1:
            raise Unspeakable(f"{self.pairs} pairs, {self.concurrency} at a time")
        if self.chess960 and self.openings is None:
            raise Unspeakable("Fischer random without a book")

    @property
    def silence_seconds(self) -> float:
        """Nothing said for so long: one of its games hangs, and it waits for ever.

        At fixed nodes or depth it gives engines no limit.
        """
        games = (side.tc.limit_seconds(SLOWEST_NPS) for side in self.sides)
        return max(SILENCE_SECONDS, *games)


def _seconds(tc: TimeControl) -> float:
    if isinstance(tc, Clock):
        return tc.seconds + tc.increment
    return tc.seconds if isinstance(tc, MoveTime) else SHORTEST_SECONDS
