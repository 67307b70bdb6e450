"""The command line for fastchess, after its manual; pure, so that it can be read and tested.

Every word is one that all versions from 1.4 on take.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rookery.model.timecontrol import Clock, Depth, MoveTime, Nodes, TimeControl

# What one call of fastchess is to play.

SHORTEST_SECONDS = 0.001
"""It counts whole milliseconds, and takes none for no limit at all."""
SLOWEST_NPS = 10_000.0
SILENCE_SECONDS = 3600.0


class UnsupportedByFastchess(ValueError):
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
            raise UnsupportedByFastchess(
                f"an engine's name that its output would garble: {self.name!r}"
            )
        if not self.program.is_absolute():
            raise UnsupportedByFastchess(f"a program without its whole path: {self.program}")
        if any(set(word) & set(" \t\n\"'") or not word for word in self.arguments):
            raise UnsupportedByFastchess(
                f"engine arguments with blanks or quotes: {self.arguments!r}"
            )
        if wrong := [name for name, value in self.options if not value or "=" in name or not name]:
            raise UnsupportedByFastchess(
                f"options without a value or with an odd name: {', '.join(wrong)}"
            )
        if _seconds(self.tc) < SHORTEST_SECONDS:
            raise UnsupportedByFastchess(f"less than a millisecond: {self.tc}")


@dataclass(frozen=True, slots=True)
class Openings:
    """The book, and where in its order to begin (from 1). Without a seed: the book's own order."""

    file: Path
    seed: int | None
    start: int = 1
    plies: int | None = None

    def __post_init__(self) -> None:
        if self.file.suffix not in (".epd", ".pgn"):
            raise UnsupportedByFastchess(f"a book that is neither .epd nor .pgn: {self.file.name}")
        if self.start < 1 or not (self.seed is None or 0 <= self.seed < 2**64):
            raise UnsupportedByFastchess(f"openings from {self.start} on, shuffled by {self.seed}")


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
            raise UnsupportedByFastchess("tablebases in a folder with a colon in its name")


@dataclass(frozen=True, slots=True)
class Pgn:
    """Where games are written, and what names their event and site."""

    file: Path
    event: str = "?"
    site: str = "?"

    def __post_init__(self) -> None:
        # What begins with a dash would be the next option.
        if self.event.startswith("-") or self.site.startswith("-"):
            raise UnsupportedByFastchess(
                f"an event or site with a dash in front: {self.event}, {self.site}"
            )


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
            raise UnsupportedByFastchess(f"at least two engines with names of their own: {names}")
        if self.pairs < 1 or self.concurrency < 1:
            raise UnsupportedByFastchess(f"{self.pairs} pairs, {self.concurrency} at a time")
        if self.chess960 and self.openings is None:
            raise UnsupportedByFastchess("Fischer random without a book")

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


def command_line(program: str, match: Invocation) -> list[str]:
    """The words to start; nothing passes through a shell."""
    return [
        program,
        *_frame(match),
        *_adjudication(match),
        *_input_and_output(match),
        *_engines(match),
    ]


def _frame(match: Invocation) -> Iterator[str]:
    # A crashed engine is started again, and every opening is played with both colours.
    yield from ("-recover", "-repeat", "-games", "2", "-rounds", str(match.pairs))
    # All against all is what it does unasked; some versions play a gauntlet when asked for it.
    if len(match.sides) > 2 and not match.round_robin:
        yield from ("-tournament", "gauntlet")
    # How many games run at once is decided by who knows the machine, not by fastchess.
    yield from ("-concurrency", str(match.concurrency), "-force-concurrency")
    yield from ("-variant", "fischerandom" if match.chess960 else "standard")
    yield from ("-output", "format=fastchess", "-report", "penta=true")
    yield from ("-ratinginterval", str(match.report_every), "-autosaveinterval", "0")
    # It writes its settings when it ends, wherever it was started, unless told where.
    yield from ("-config", f"outname={os.devnull}")


def _adjudication(match: Invocation) -> Iterator[str]:
    if match.resign is not None:
        yield from _resign(match.resign)
    if match.draw is not None:
        yield from _draw(match.draw)
    if match.most_moves is not None:
        yield from ("-maxmoves", str(match.most_moves))
    if match.tablebases is not None:
        yield from ("-tb", ":".join(map(str, match.tablebases.folders)))
        yield from ("-tbpieces", str(match.tablebases.men))


def _resign(rule: Resign) -> Iterator[str]:
    yield from ("-resign", f"movecount={rule.moves}", f"score={rule.score}")
    yield f"twosided={'true' if rule.two_sided else 'false'}"


def _draw(rule: Draw) -> Iterator[str]:
    yield from ("-draw", f"movenumber={rule.from_move}", f"movecount={rule.moves}")
    yield f"score={rule.score}"


def _input_and_output(match: Invocation) -> Iterator[str]:
    if match.openings is not None:
        yield from _openings(match.openings)
    if match.pgn is not None:
        yield from _pgn(match.pgn)


def _openings(book: Openings) -> Iterator[str]:
    if book.seed is not None:
        yield from ("-srand", str(book.seed))
    yield from ("-openings", f"file={book.file}", f"format={book.file.suffix.lstrip('.')}")
    yield f"order={'sequential' if book.seed is None else 'random'}"
    if book.plies is not None:
        yield f"plies={book.plies}"
    yield f"start={book.start}"


def _pgn(pgn: Pgn) -> Iterator[str]:
    yield from ("-event", pgn.event, "-site", pgn.site)
    yield from ("-pgnout", f"file={pgn.file}", "notation=san", "nodes=true", "nps=true")


def _engines(match: Invocation) -> Iterator[str]:
    for side in match.sides:
        yield "-engine"
        yield from _engine(side)


def _engine(side: Side) -> Iterator[str]:
    yield from (f"name={side.name}", f"cmd={side.program}", "proto=uci", limit(side.tc))
    if side.arguments:
        yield f"args={' '.join(side.arguments)}"
    if side.directory is not None:
        yield f"dir={side.directory}"
    if side.time_margin_ms is not None:
        yield f"timemargin={side.time_margin_ms}"
    yield from (f"option.{name}={value}" for name, value in side.options)


def limit(tc: TimeControl) -> str:
    """A time control as an engine's option."""
    match tc:
        case Clock():
            return f"tc={tc}"
        case Nodes(nodes):
            return f"nodes={nodes}"
        case Depth(depth):
            return f"plies={depth}"
        case MoveTime(seconds):
            return f"st={f'{seconds:.3f}'.rstrip('0').rstrip('.')}"
