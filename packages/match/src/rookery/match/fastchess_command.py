"""Makes the command line for fastchess, following its manual. It runs nothing, so that it can be
tested easily.

All versions from 1.4 on accept these words.
"""

import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rookery.core.model.timecontrol import ClockControl, Depth, MoveTime, Nodes, TimeControl
from rookery.match.job import EngineSpec, Setup

ENDLESS_PAIRS = 500_000
SHORTEST_SECONDS = 0.001
"""fastchess counts whole milliseconds, and takes zero for no limit."""
SLOWEST_NPS = 10_000.0
SILENCE_SECONDS = 3600.0


class UnsupportedByFastchess(ValueError):
    """A match that fastchess can't play. The text names the unsupported setting."""


@dataclass(frozen=True, slots=True)
class FastchessFiles:
    """The files that fastchess reads openings from and writes games to.

    Openings begin at place `start`, counted from 1, in the order of `seed`, or of the book if there
    is none.
    """

    book: Path | None = None
    plies: int | None = None
    seed: int | None = None
    start: int = 1
    pgn: Path | None = None


@dataclass(frozen=True, slots=True)
class Schedule:
    """How much is played: the pairs of each pairing, or without end, and the games at a time."""

    pairs: int | None
    concurrency: int = 1
    round_robin: bool = False


def command_line(
    program: str,
    engines: Sequence[EngineSpec],
    setup: Setup,
    files: FastchessFiles,
    schedule: Schedule,
) -> list[str]:
    """Return the command line, which passes through no shell. Raise UnsupportedByFastchess.

    It looks for programs and resolves links, so it may wait for the disk.
    """
    pairs, concurrency = schedule.pairs, schedule.concurrency
    _check_match(engines, setup, files, pairs, concurrency)
    for engine in engines:
        _check_engine(engine)
    return [
        program,
        *_tournament(pairs, concurrency, gauntlet=len(engines) > 2 and not schedule.round_robin),
        *("-variant", "fischerandom" if setup.chess960 else "standard"),
        *_adjudication(setup),
        *_openings(files),
        *_games(files),
        *(word for engine in engines for word in _engine(engine, setup.margin_ms)),
    ]


def silence_seconds(engines: Sequence[EngineSpec]) -> float:
    """Return the silence after which a game must hang. fastchess itself would wait for ever.

    With fixed nodes or depth it sets no limit for engines.
    """
    games = (engine.time_control.limit_seconds(SLOWEST_NPS) for engine in engines)
    return max(SILENCE_SECONDS, *games)


def _check_match(
    engines: Sequence[EngineSpec],
    setup: Setup,
    files: FastchessFiles,
    pairs: int | None,
    concurrency: int,
) -> None:
    names = [engine.name for engine in engines]
    if len(names) < 2 or len(set(names)) < len(names):
        raise UnsupportedByFastchess(f"at least two engines with names of their own: {names}")
    if (pairs is not None and pairs < 1) or concurrency < 1:
        raise UnsupportedByFastchess(f"{pairs} pairs, {concurrency} at a time")
    if setup.chess960 and files.book is None:
        raise UnsupportedByFastchess("Fischer random without a book")
    if any(":" in folder for folder in setup.syzygy):
        raise UnsupportedByFastchess("tablebases in a folder with a colon in its name")
    if files.book is not None and files.book.suffix not in (".epd", ".pgn"):
        raise UnsupportedByFastchess(f"a book that is neither .epd nor .pgn: {files.book.name}")
    if files.start < 1 or not (files.seed is None or 0 <= files.seed < 2**64):
        raise UnsupportedByFastchess(f"openings from {files.start} on, shuffled by {files.seed}")


def _check_engine(engine: EngineSpec) -> None:
    name, arguments = engine.name, engine.command[1:]
    if not name or any(sign in name for sign in "(){}\n") or " vs " in name:
        raise UnsupportedByFastchess(f"an engine's name that its output would garble: {name!r}")
    if any(set(word) & set(" \t\n\"'") or not word for word in arguments):
        raise UnsupportedByFastchess(f"engine arguments with blanks or quotes: {arguments!r}")
    if wrong := [name for name, value in engine.options if not value or "=" in name or not name]:
        names = ", ".join(wrong)
        raise UnsupportedByFastchess(f"options without a value or with an odd name: {names}")
    if _seconds(engine.time_control) < SHORTEST_SECONDS:
        raise UnsupportedByFastchess(f"less than a millisecond: {engine.tc}")


def _seconds(tc: TimeControl) -> float:
    if isinstance(tc, ClockControl):
        return tc.seconds + tc.increment
    return tc.seconds if isinstance(tc, MoveTime) else SHORTEST_SECONDS


def _tournament(pairs: int | None, concurrency: int, *, gauntlet: bool) -> Iterator[str]:
    rounds = ENDLESS_PAIRS if pairs is None else pairs
    # A crashed engine is started again, and every opening is played with both colours.
    yield from ("-recover", "-repeat", "-games", "2", "-rounds", str(rounds))
    # A round robin is the default; some versions play a gauntlet when asked for a round robin.
    if gauntlet:
        yield from ("-tournament", "gauntlet")
    # The caller knows the machine and decides how many games run at once, not fastchess.
    yield from ("-concurrency", str(concurrency), "-force-concurrency")
    yield from ("-output", "format=fastchess", "-report", "penta=true")
    yield from ("-ratinginterval", "1", "-autosaveinterval", "0")
    # By default it writes its settings into the current folder when it ends.
    yield from ("-config", f"outname={os.devnull}")


def _adjudication(setup: Setup) -> Iterator[str]:
    rules = setup.adjudication
    if rules.resign is not None:
        yield from ("-resign", f"movecount={rules.resign.moves}", f"score={rules.resign.score}")
        yield f"twosided={'true' if rules.resign.two_sided else 'false'}"
    if rules.draw is not None:
        yield from ("-draw", f"movenumber={rules.draw.from_move}", f"movecount={rules.draw.moves}")
        yield f"score={rules.draw.score}"
    if rules.most_moves:
        yield from ("-maxmoves", str(rules.most_moves))
    if setup.syzygy:
        yield from ("-tb", ":".join(setup.syzygy), "-tbpieces", str(rules.syzygy_men))


def _openings(files: FastchessFiles) -> Iterator[str]:
    if files.book is None:
        return
    if files.seed is not None:
        yield from ("-srand", str(files.seed))
    book = files.book.resolve()
    yield from ("-openings", f"file={book}", f"format={files.book.suffix.lstrip('.')}")
    yield f"order={'sequential' if files.seed is None else 'random'}"
    if files.plies is not None:
        yield f"plies={files.plies}"
    yield f"start={files.start}"


def _games(files: FastchessFiles) -> Iterator[str]:
    if files.pgn is not None:
        yield from ("-event", "?", "-site", "?")
        yield from ("-pgnout", f"file={files.pgn.resolve()}")
        yield from ("notation=san", "nodes=true", "nps=true")


def _engine(engine: EngineSpec, margin_ms: int) -> Iterator[str]:
    # fastchess does not look on the PATH.
    program = Path(shutil.which(engine.command[0]) or engine.command[0]).absolute()
    yield from ("-engine", f"name={engine.name}", f"cmd={program}", "proto=uci")
    yield time_limit(engine.time_control)
    if arguments := engine.command[1:]:
        yield f"args={' '.join(arguments)}"
    if engine.folder is not None:
        yield f"dir={engine.folder}"
    yield f"timemargin={margin_ms}"
    if engine.threads > 1 and not any(name.lower() == "threads" for name, _ in engine.options):
        yield f"option.Threads={engine.threads}"
    yield from (f"option.{name}={value}" for name, value in engine.options)


def time_limit(tc: TimeControl) -> str:
    """Return a time control as an option of an engine."""
    match tc:
        case ClockControl():
            return f"tc={tc}"
        case Nodes(nodes):
            return f"nodes={nodes}"
        case Depth(depth):
            return f"plies={depth}"
        case MoveTime(seconds):
            return f"st={f'{seconds:.3f}'.rstrip('0').rstrip('.')}"
