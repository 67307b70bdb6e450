"""The options shared by `rookery match` and `rookery tune`: engines, time controls, rules,
openings."""

import shlex
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Group, Parameter

from rookery.core.books import DEMO, demo_path
from rookery.core.command import BadArgument, option, warn
from rookery.core.model.engine import BUNDLED_COMMAND
from rookery.core.model.plan import Draw, Resign
from rookery.core.model.timecontrol import BadTimeControl, TimeControl, parse
from rookery.match.job import (
    OFFICIAL_DRAW,
    OFFICIAL_RESIGN,
    OUR_COMMAND,
    Adjudication,
    EngineSpec,
    Openings,
    Setup,
    openings_of,
)
from rookery.match.opening_order import CROWDED, OpeningOrder
from rookery.match.openings import BookFault, OpeningBook
from rookery.match.processors import default_concurrency, read_concurrency

FIRST_SEED = 1
NO_BOOK = "none"


GAMES = Group("Games", sort_key=4)
OPENINGS = Group("Openings", sort_key=5)
ADJUDICATION = Group("Adjudication", sort_key=6)


def _game(purpose: str, metavar: str | None = None) -> Parameter:
    return option(purpose, metavar, group=GAMES)


def _opening(purpose: str, metavar: str | None = None) -> Parameter:
    return option(purpose, metavar, group=OPENINGS)


def _rule(purpose: str, metavar: str | None = None) -> Parameter:
    return option(purpose, metavar, group=ADJUDICATION)


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class GameFlags:
    """How games are played, with which openings, and when they are over."""

    tc: Annotated[str, _game("time control: 10+0.1, 40/60+0.6, N=25000, D=12, MT=100", "TC")] = (
        "10+0.1"
    )
    threads: Annotated[int, _game("threads of each engine", "N")] = 1
    option: Annotated[list[str], _game("for every engine; may be repeated", "NAME=VALUE")] = field(
        default_factory=list
    )
    concurrency: Annotated[
        str | None, _game("games at a time: 4, MAX, PHYS-1 (default: PHYS-1)", "N")
    ] = None
    margin: Annotated[int, _game("time margin in ms", "MS")] = 20
    pgn: Annotated[Path | None, _game("append the games to this file", "FILE")] = None
    book: Annotated[
        Path | None,
        _opening(
            "EPD or PGN, plain or packed; none: the starting position (default: the bundled"
            f" {DEMO})",
            "FILE",
        ),
    ] = None
    book_depth: Annotated[int | None, _opening("full moves to play of PGN openings", "MOVES")] = (
        None
    )
    order: Annotated[Literal["random", "sequential"], _opening("order of openings", "ORDER")] = (
        "random"
    )
    seed: Annotated[int, _opening("seed of the random order", "N")] = FIRST_SEED
    start: Annotated[int, _opening("number of the first opening", "N")] = 1
    chess960: Annotated[bool, _opening("Fischer random")] = False
    resign: Annotated[
        tuple[int, int] | None,
        _rule("a side resigns after MOVES scores of -CP or less (default: 3 600)", "MOVES CP"),
    ] = None
    two_sided: Annotated[bool, _rule("resign only when both engines agree")] = False
    draw: Annotated[
        tuple[int, int, int] | None,
        _rule(
            "a draw from move FROM on, after MOVES moves within CP of 0 (default: 34 8 20)",
            "FROM MOVES CP",
        ),
    ] = None
    no_adjudication: Annotated[bool, _rule("no rules but those given here")] = False
    max_moves: Annotated[int, _rule("draw after N moves; 0: never", "N")] = 0
    syzygy: Annotated[list[str], _rule("folder with tablebases; needs --syzygy-men", "DIR")] = (
        field(default_factory=list)
    )
    syzygy_men: Annotated[int, _rule("men up to which the tablebases are complete", "N")] = 0
    strict_pvs: Annotated[bool, _rule("an engine that shows an illegal variation loses")] = False


def make_setup(flags: GameFlags, *, chess960: bool = False) -> Setup:
    """Return the rules from the flags. Raise BadArgument."""
    if bool(flags.syzygy) != bool(flags.syzygy_men):
        raise BadArgument("--syzygy and --syzygy-men go together.")
    numbers = (flags.margin, flags.max_moves, flags.syzygy_men, *(flags.resign or ()))
    if min(*numbers, *(flags.draw or ())) < 0:
        raise BadArgument("Margins, moves, men and scores can't be negative.")
    return Setup(
        adjudication=_adjudication(flags),
        chess960=flags.chess960 or chess960,
        margin_ms=flags.margin,
        syzygy=tuple(flags.syzygy),
        strict_pvs=flags.strict_pvs,
    )


def _adjudication(flags: GameFlags) -> Adjudication:
    usual = not flags.no_adjudication
    resign, draw = (OFFICIAL_RESIGN, OFFICIAL_DRAW) if usual else (None, None)
    if flags.resign or resign:
        moves, score = flags.resign or (OFFICIAL_RESIGN.moves, OFFICIAL_RESIGN.score)
        resign = Resign(score, moves, flags.two_sided)
    if flags.draw:
        draw = Draw(*flags.draw)
    return Adjudication(resign, draw, flags.syzygy_men, flags.max_moves)


def book_path(flags: GameFlags) -> Path | None:
    """Return the file with the openings: a given one, or the bundled book, by its name or by
    default.

    The bundled book is not for Fischer random.
    """
    if flags.book is None:
        return None if flags.chess960 else demo_path()
    if flags.book.exists():
        return flags.book
    if str(flags.book) in (DEMO, DEMO.partition(".")[0]):
        return demo_path()
    return None if str(flags.book) == NO_BOOK else flags.book


def load_book(flags: GameFlags) -> OpeningBook | None:
    """Read the opening book; None for the starting position. Raises BadArgument."""
    path = book_path(flags)
    if path is None:
        return None
    if flags.book_depth is not None and flags.book_depth < 0:
        raise BadArgument("--book-depth can't be negative.")
    plies = None if flags.book_depth is None else 2 * flags.book_depth
    try:
        return OpeningBook.load(path, plies=plies, chess960=flags.chess960 or None)
    except BookFault as fault:
        text = str(fault)
        raise BadArgument(f"{text[:1].upper()}{text[1:]}.") from None


def warn_of_openings(book: OpeningBook | None, pairs: int | None) -> None:
    """Warn if openings will repeat, because repeated games carry less information."""
    if book is None:
        warn("without a book every pair is played from the starting position")
    elif pairs and pairs > len(book):
        warn(f"the book has {len(book)} openings for {pairs} pairs, so they come again")
    elif pairs and pairs > CROWDED * len(book):
        warn(f"{pairs} of the book's {len(book)} openings will be used")


def waiting(*, quiet: bool) -> Callable[[EngineSpec], None]:
    """Return a callback that prints which engine is waited for, since a silent engine gives no
    other sign."""

    def tell(engine: EngineSpec) -> None:
        if not quiet:
            print(f"waiting for uciok of {shlex.join(engine.command)}", file=sys.stderr, flush=True)

    return tell


def make_openings(flags: GameFlags, book: OpeningBook | None) -> Openings:
    """Return the opening of each round."""
    if book is None:
        return openings_of(None, None)
    if flags.start < 1:
        raise BadArgument("--start counts from 1.")
    seed = flags.seed if flags.order == "random" else None
    return openings_of(book, OpeningOrder(len(book), seed=seed, start=flags.start))


def choose_concurrency(flags: GameFlags, threads: int) -> int:
    if flags.concurrency is None:
        return default_concurrency(threads)
    return read_concurrency(flags.concurrency)


def time_control(text: str) -> TimeControl:
    try:
        return parse(text)
    except BadTimeControl as fault:
        raise BadArgument(f"{fault}.") from None


def read_options(words: Iterable[str]) -> dict[str, str]:
    """Parse `Name=Value` words. A button is `Name=`. Raises BadArgument."""
    options = {}
    for word in words:
        name, sign, value = word.partition("=")
        if not name or not sign:
            raise BadArgument(f"{word!r} is not an option: write NAME=VALUE.")
        options[name] = value
    return options


def split_command(text: str) -> tuple[str, ...]:
    """Split a command line into words. Raises BadArgument."""
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise BadArgument(f"{text!r} is not a command: {error}.") from None
    if not words:
        raise BadArgument("An engine needs a command.")
    # The bundled engine is always available, even if its program is not on the PATH.
    return (*OUR_COMMAND, *words[1:]) if words[0] == BUNDLED_COMMAND else words


def name_program(text: str) -> str:
    """Return the default name of an engine. Raise BadArgument."""
    command = split_command(text)
    return BUNDLED_COMMAND if command[: len(OUR_COMMAND)] == OUR_COMMAND else Path(command[0]).name


def make_engine(  # noqa: PLR0913 - what one engine may have of its own
    flags: GameFlags,
    name: str,
    command: str,
    *,
    options: Sequence[str] = (),
    tc: str | None = None,
    threads: int | None = None,
    folder: str | None = None,
) -> EngineSpec:
    """Return an engine with its own options and those for all engines. Raise BadArgument."""
    own_threads = flags.threads if threads is None else threads
    if own_threads < 1:
        raise BadArgument("An engine needs at least one thread.")
    return EngineSpec(
        name,
        split_command(command),
        tuple((read_options(flags.option) | read_options(options)).items()),
        str(time_control(flags.tc if tc is None else tc)),
        own_threads,
        folder,
    )


def read_engine(flags: GameFlags, words: Sequence[str]) -> EngineSpec:
    """Parse an engine from words like cmd=./a name=A tc=5+0.05 threads=2 dir=/tmp
    option.Hash=64."""
    if bare := [word for word in words if "=" not in word]:
        raise BadArgument(f"--engine takes KEY=VALUE, not {bare[0]!r}: write cmd={bare[0]}.")
    pairs = [word.partition("=")[::2] for word in words]
    given = {name: value for name, value in pairs if not name.startswith("option.")}
    options = [f"{name[7:]}={value}" for name, value in pairs if name.startswith("option.")]
    if unknown := given.keys() - {"cmd", "name", "tc", "threads", "dir"}:
        raise BadArgument(f"--engine has no key {min(unknown)}: {' '.join(words)}")
    if not given.get("cmd"):
        raise BadArgument(f"--engine needs cmd=...: {' '.join(words)}")
    threads = given.get("threads")
    if threads is not None and not threads.isdecimal():
        raise BadArgument(f"threads={threads} is not a number: {' '.join(words)}")
    return make_engine(
        flags,
        given.get("name") or name_program(given["cmd"]),
        given["cmd"],
        options=options,
        tc=given.get("tc"),
        threads=None if threads is None else int(threads),
        folder=given.get("dir"),
    )
