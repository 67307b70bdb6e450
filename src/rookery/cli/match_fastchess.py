"""Lets `rookery match` play with fastchess where it is asked for."""

import argparse
from collections.abc import Sequence

from rookery.cli.arguments import BadArgument
from rookery.cli.match_arguments import book_path
from rookery.match.fastchess import FastchessMatch, FastchessProgram, find_fastchess
from rookery.match.fastchess_command import (
    FastchessFiles,
    UnsupportedByFastchess,
    command_line,
    silence_seconds,
)
from rookery.match.job import EngineSpec, Setup

_BRACKETS = str.maketrans("(){}", "[][]")


def require_fastchess() -> FastchessProgram:
    """The program on the PATH; raises BadArgument."""
    found = find_fastchess()
    if found is None:
        raise BadArgument("--runner fastchess: there is no fastchess on the PATH.")
    if not found.is_recent:
        raise BadArgument(f"--runner fastchess: {found.path} is too old: {found.line}.")
    return found


def name_for_fastchess(name: str) -> str:
    """Its output has names in brackets and between `vs`."""
    return name.translate(_BRACKETS).replace(" vs ", " v ")


def fastchess_match(
    program: FastchessProgram,
    args: argparse.Namespace,
    engines: Sequence[EngineSpec],
    setup: Setup,
    rounds: int | None,
    concurrency: int,
) -> FastchessMatch:
    """The match by fastchess; raises BadArgument where it can't be told what is wanted."""
    try:
        if setup.strict_pvs:
            raise UnsupportedByFastchess("games lost by a variation")
        command = command_line(
            program.path,
            engines,
            setup,
            _files(args),
            pairs=rounds,
            concurrency=concurrency,
            round_robin=not args.gauntlet,
        )
    except UnsupportedByFastchess as fault:
        raise BadArgument(f"fastchess cannot play {fault}.") from None
    return FastchessMatch(command, silence_seconds(engines))


def _files(args: argparse.Namespace) -> FastchessFiles:
    seed = args.seed if args.order == "random" else None
    plies = None if args.book_depth is None else 2 * args.book_depth
    return FastchessFiles(book_path(args), plies, seed, args.start, args.pgn)
