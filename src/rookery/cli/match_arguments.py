"""What `rookery match` and `rookery tune` share: engines, time controls, rules, openings."""

import argparse
import shlex
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from rookery.books import DEMO, demo_path
from rookery.cli.arguments import BadArgument
from rookery.match.job import (
    OFFICIAL_DRAW,
    OFFICIAL_RESIGN,
    Adjudication,
    EngineSpec,
    Openings,
    Setup,
    openings_of,
)
from rookery.match.opening_order import CROWDED, OpeningOrder
from rookery.match.openings import BookFault, OpeningBook
from rookery.match.processors import default_concurrency, read_concurrency
from rookery.model.plan import Draw, Resign
from rookery.model.timecontrol import BadTimeControl, TimeControl, parse
from rookery.worker.engines.workshop import OUR_COMMAND, OURS

FIRST_SEED = 1
NO_BOOK = "none"


def add_playing(parser: argparse.ArgumentParser) -> None:
    """How games are played."""
    group = parser.add_argument_group("games")
    group.add_argument(
        "--tc",
        default="10+0.1",
        help="time control: 10+0.1, 40/60+0.6, N=25000, D=12, MT=100 (default: 10+0.1)",
    )
    group.add_argument(
        "--threads", type=int, default=1, metavar="N", help="threads of each engine (default: 1)"
    )
    group.add_argument(
        "--option", action="append", default=[], metavar="NAME=VALUE", help="for every engine"
    )
    group.add_argument(
        "--concurrency", metavar="N", help="games at a time: 4, MAX, PHYS-1 (default: PHYS-1)"
    )
    group.add_argument(
        "--margin", type=int, default=20, metavar="MS", help="time margin (default: 20)"
    )
    group.add_argument("--pgn", type=Path, metavar="FILE", help="add the games to this file")
    _add_openings(parser)
    _add_rules(parser)


def _add_openings(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("openings")
    group.add_argument("--book", type=Path, metavar="FILE",
                       help=f"EPD or PGN, plain or packed; {DEMO} comes along and is the usual"
                       " one, none is the starting position")  # fmt: skip
    group.add_argument("--book-depth", type=int, metavar="MOVES", help="full moves of PGN openings")
    group.add_argument(
        "--order",
        choices=("random", "sequential"),
        default="random",
        help="of the openings (default: random)",
    )
    group.add_argument(
        "--seed", type=int, default=FIRST_SEED, metavar="N", help="of the random order (default: 1)"
    )
    group.add_argument(
        "--start", type=int, default=1, metavar="N", help="number of the first opening (default: 1)"
    )
    group.add_argument("--chess960", action="store_true", help="Fischer random")


def _add_rules(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("adjudication")
    group.add_argument(
        "--resign", nargs=2, type=int, metavar=("MOVES", "CP"), help="(default: 3 600)"
    )
    group.add_argument("--two-sided", action="store_true", help="both sides agree on who resigns")
    group.add_argument(
        "--draw", nargs=3, type=int, metavar=("FROM", "MOVES", "CP"), help="default: 34 8 20"
    )
    group.add_argument("--no-adjudication", action="store_true", help="play every game out")
    group.add_argument(
        "--max-moves", type=int, default=0, metavar="N", help="after so many it is a draw"
    )
    group.add_argument(
        "--syzygy", action="append", default=[], metavar="DIR", help="tablebases; with --syzygy-men"
    )
    group.add_argument(
        "--syzygy-men", type=int, default=0, metavar="N", help="complete up to so many men"
    )
    group.add_argument("--strict-pvs", action="store_true", help="an illegal variation loses")


def setup_of(args: argparse.Namespace, *, chess960: bool = False) -> Setup:
    """The rules that the arguments ask for; raises BadArgument."""
    if bool(args.syzygy) != bool(args.syzygy_men):
        raise BadArgument("--syzygy and --syzygy-men go together.")
    numbers = (args.margin, args.max_moves, args.syzygy_men, *(args.resign or ()))
    if min(*numbers, *(args.draw or ())) < 0:
        raise BadArgument("Margins, moves, men and scores are not negative.")
    return Setup(
        adjudication=_adjudication(args),
        chess960=args.chess960 or chess960,
        margin_ms=args.margin,
        syzygy=tuple(args.syzygy),
        strict_pvs=args.strict_pvs,
    )


def _adjudication(args: argparse.Namespace) -> Adjudication:
    if args.no_adjudication:
        return Adjudication(most_moves=args.max_moves)
    moves, score = args.resign or (OFFICIAL_RESIGN.moves, OFFICIAL_RESIGN.score)
    draw = Draw(*args.draw) if args.draw else OFFICIAL_DRAW
    resign = Resign(score, moves, args.two_sided)
    return Adjudication(resign, draw, args.syzygy_men, args.max_moves)


def book_path(args: argparse.Namespace) -> Path | None:
    """Where the openings come from: a file, or the book that comes along by its name or unasked.

    That one is no book for Fischer random.
    """
    if args.book is None:
        return None if args.chess960 else demo_path()
    if args.book.exists():
        return Path(args.book)
    if str(args.book) in (DEMO, DEMO.partition(".")[0]):
        return demo_path()
    return None if str(args.book) == NO_BOOK else Path(args.book)


def book_of(args: argparse.Namespace) -> OpeningBook | None:
    """The book, read; raises BadArgument."""
    path = book_path(args)
    if path is None:
        return None
    if args.book_depth is not None and args.book_depth < 0:
        raise BadArgument("--book-depth is not negative.")
    plies = None if args.book_depth is None else 2 * args.book_depth
    try:
        return OpeningBook.load(path, plies=plies)
    except BookFault as fault:
        text = str(fault)
        raise BadArgument(f"{text[:1].upper()}{text[1:]}.") from None


def warn_of_openings(book: OpeningBook | None, pairs: int | None) -> None:
    """Games that repeat one another tell less than they seem to."""
    if book is None:
        warn("without a book every pair is played from the starting position")
    elif pairs and pairs > len(book):
        warn(f"the book has {len(book)} openings for {pairs} pairs, so they come again")
    elif pairs and pairs > CROWDED * len(book):
        warn(f"{pairs} of the book's {len(book)} openings will be used")


def warn(text: str) -> None:
    """On the way that leaves the results alone."""
    print(f"warning: {text}", file=sys.stderr)


def waiting(*, quiet: bool) -> Callable[[EngineSpec], None]:
    """Says at once which engine is waited for: a silent one gives no other sign."""

    def tell(engine: EngineSpec) -> None:
        if not quiet:
            print(f"waiting for uciok of {shlex.join(engine.command)}", file=sys.stderr, flush=True)

    return tell


def openings_from(args: argparse.Namespace, book: OpeningBook | None) -> Openings:
    """The opening of each round."""
    if book is None:
        return openings_of(None, None)
    if args.start < 1:
        raise BadArgument("--start counts from 1.")
    seed = args.seed if args.order == "random" else None
    return openings_of(book, OpeningOrder(len(book), seed=seed, start=args.start))


def concurrency_of(args: argparse.Namespace, threads: int) -> int:
    if args.concurrency is None:
        return default_concurrency(threads)
    return read_concurrency(args.concurrency)


def time_control(text: str) -> TimeControl:
    try:
        return parse(text)
    except BadTimeControl as fault:
        raise BadArgument(f"{fault}.") from None


def options_of(words: Iterable[str]) -> dict[str, str]:
    """`Name=Value` words; a button is `Name=`."""
    options = {}
    for word in words:
        name, sign, value = word.partition("=")
        if not name or not sign:
            raise BadArgument(f"{word!r} is no option: write NAME=VALUE.")
        options[name] = value
    return options


def command_of(text: str) -> tuple[str, ...]:
    """A command line as words; raises BadArgument."""
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise BadArgument(f"{text!r} is no command: {error}.") from None
    if not words:
        raise BadArgument("An engine needs a command.")
    # Ours is there wherever we are, also where its program is on no PATH.
    return (*OUR_COMMAND, *words[1:]) if words[0] == OURS else words


def program_of(text: str) -> str:
    """What an engine is called unless it is given a name; raises BadArgument."""
    command = command_of(text)
    return OURS if command[: len(OUR_COMMAND)] == OUR_COMMAND else Path(command[0]).name


def engine_of(
    args: argparse.Namespace,
    name: str,
    command: str,
    *,
    options: Sequence[str] = (),
    tc: str | None = None,
    threads: int | None = None,
    folder: str | None = None,
) -> EngineSpec:
    """An engine with what all engines have and what it has of its own."""
    own_threads = args.threads if threads is None else threads
    if own_threads < 1:
        raise BadArgument("An engine needs at least one thread.")
    return EngineSpec(
        name,
        command_of(command),
        tuple((options_of(args.option) | options_of(options)).items()),
        str(time_control(args.tc if tc is None else tc)),
        own_threads,
        folder,
    )


def described_engine(args: argparse.Namespace, words: Sequence[str]) -> EngineSpec:
    """An engine from words like cmd=./a name=A tc=5+0.05 threads=2 dir=/tmp option.Hash=64."""
    if bare := [word for word in words if "=" not in word]:
        raise BadArgument(f"{bare[0]!r} says nothing about an engine: write cmd={bare[0]}.")
    pairs = [word.partition("=")[::2] for word in words]
    given = {name: value for name, value in pairs if not name.startswith("option.")}
    options = [f"{name[7:]}={value}" for name, value in pairs if name.startswith("option.")]
    if unknown := given.keys() - {"cmd", "name", "tc", "threads", "dir"}:
        raise BadArgument(f"An engine has no {min(unknown)}: {' '.join(words)}")
    if not given.get("cmd"):
        raise BadArgument(f"An engine needs cmd=...: {' '.join(words)}")
    threads = given.get("threads")
    if threads is not None and not threads.isdecimal():
        raise BadArgument(f"threads={threads} is no number: {' '.join(words)}")
    return engine_of(
        args,
        given.get("name") or program_of(given["cmd"]),
        given["cmd"],
        options=options,
        tc=given.get("tc"),
        threads=None if threads is None else int(threads),
        folder=given.get("dir"),
    )
