"""The command line for fastchess, after its manual; pure, so that it can be read and tested.

Every word is one that all versions from 1.4 on take.
"""

import os
from collections.abc import Iterator

from rookery.core.timecontrol import Clock, Depth, MoveTime, Nodes, TimeControl
from rookery.worker.fastchess.invocation import Draw, Invocation, Openings, Pgn, Resign, Side


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
