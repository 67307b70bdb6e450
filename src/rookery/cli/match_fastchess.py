"""Lets `rookery match` play with fastchess, where it is installed and knows such a match."""

import argparse
from collections.abc import Sequence

from rookery.cli.usage import BadArgument
from rookery.worker.fastchess.detection import find
from rookery.worker.fastchess.invocation import Unspeakable
from rookery.worker.match.fastchess import FastchessMatch, Files, invocation
from rookery.worker.match.job import Setup
from rookery.worker.match.spec import EngineSpec


def fastchess_match(
    args: argparse.Namespace,
    engines: Sequence[EngineSpec],
    setup: Setup,
    rounds: int | None,
    concurrency: int,
    resumed: bool,
) -> FastchessMatch | None:
    """The match by fastchess; None where the built-in runner is to play it."""
    try:
        if resumed:
            raise Unspeakable("a match that goes on in the middle")
        if setup.strict_pvs:
            raise Unspeakable("games lost by a variation")
        if len(engines) > 2 and args.runner == "auto":
            raise Unspeakable("all pairings of a round from the same opening")
        wanted = invocation(
            engines,
            setup,
            _files(args),
            pairs=rounds,
            concurrency=concurrency,
            round_robin=not args.gauntlet,
        )
        found = find()
        if found is None or not found.is_recent:
            raise Unspeakable("anything, as there is no recent fastchess on the PATH")
    except Unspeakable as fault:
        if args.runner == "fastchess":
            raise BadArgument(f"fastchess cannot play {fault}.") from None
        return None
    return FastchessMatch(found.path, wanted)


def _files(args: argparse.Namespace) -> Files:
    seed = args.seed if args.order == "random" else None
    plies = None if args.book_depth is None else 2 * args.book_depth
    return Files(args.book, plies, seed, args.start, args.pgn)
