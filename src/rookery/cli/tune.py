"""`rookery tune`: tunes an engine's options on this machine, by SPSA, and says what it found.

    rookery tune --engine ./a --parameters file.txt --games 4000 --tc 1+0.01

The file has a line a parameter: name,start,min,max,c_end,r_end or, with a type,
name,int|float,start,min,max,c_end,r_end. `rookery stats spsa` shows what such lines mean.

Exit codes: 0 done, 2 the command line makes no sense, 3 it could not be played, 130 interrupted,
with a resume file.
"""

import argparse
import json
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from time import monotonic

from rookery.boundary.offload import Threads
from rookery.cli.arguments import BadArgument, add_schedule, text_of
from rookery.cli.match_arguments import (
    add_playing,
    book_of,
    concurrency_of,
    engine_of,
    openings_from,
    program_of,
    setup_of,
    waiting,
    warn,
    warn_of_openings,
)
from rookery.cli.match_resume import INTERRUPTS, Games, Sitting, add_session, resumable
from rookery.cli.match_show import Row, display, duration
from rookery.match.job import EngineSpec, GameEnded, Match, PairEnded
from rookery.match.pgn import JournalWriter
from rookery.match.results import pair_score_of
from rookery.match.sharded import ShardedMatch
from rookery.match.tuning import Tuner
from rookery.match.uci import inspect_engines
from rookery.stats.spsa import Tune, as_lines, as_mapping, as_setoption, late_mean, new_tune
from rookery.stats.spsa_parameters import Concern, remarks


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = __doc__
    parser.set_defaults(run=run)
    group = parser.add_argument_group("tune")
    group.add_argument("--engine", metavar="COMMAND", help="the engine to tune")
    group.add_argument("--parameters", type=Path, metavar="FILE", help="what to tune, see above")
    group.add_argument(
        "--games", type=int, default=4000, metavar="N", help="how many (default: 4000)"
    )
    add_schedule(group)
    add_playing(parser)
    add_session(parser)


def run(args: argparse.Namespace) -> int:
    """Tunes, or goes on tuning."""
    return resumable(args, "tune", add_arguments, _tune)


def _tune(args: argparse.Namespace, sitting: Sitting) -> int:
    if args.engine is None or args.parameters is None:
        raise BadArgument("--engine and --parameters are needed.")
    if args.games < 2 or args.games % 2:
        raise BadArgument("--games is an even number: openings are played with both colours.")
    tune = tune_of(args)
    book = book_of(args)
    engine = engine_of(args, program_of(args.engine), args.engine)
    tuner = Tuner(tune, engine, openings_from(args, book), Random(args.seed))  # noqa: S311 - no secret
    for entry in sitting.kept.entries:
        tuner.recall(entry)
    setup = setup_of(args, chess960=book is not None and book.is_chess960)
    match = ShardedMatch(tuner.jobs(), setup, concurrency=concurrency_of(args, engine.threads))
    files = Games({}, args.pgn, args.failures, "tune")
    _look_over(tune, engine, quiet=args.json)
    warn_of_openings(book, args.games // 2)
    with sitting.journal() as writer:
        INTERRUPTS.run(_Session(tuner, files, writer, quiet=args.json).follow(match))
    _tell(tuner.tune, as_json=args.json)
    return 0


def _look_over(tune: Tune, engine: EngineSpec, *, quiet: bool) -> None:
    """Say what is odd about the parameters; one that the engine does not have is no use to tune."""
    (found,) = INTERRUPTS.run(inspect_engines([engine], waiting(quiet=quiet)))
    for remark in remarks(tune.parameters, found.options):
        if remark.concern is Concern.UNKNOWN_OPTION:
            raise BadArgument(f"{remark.text}.")
        warn(remark.text)


def tune_of(args: argparse.Namespace) -> Tune:
    text = text_of(args.parameters)
    return new_tune(text, args.games, a_ratio=args.a_ratio, alpha=args.alpha, gamma=args.gamma)


@dataclass(slots=True)
class _Session:
    """One sitting of a tune."""

    tuner: Tuner
    files: Games
    writer: JournalWriter
    quiet: bool
    threads: Threads = field(default_factory=Threads)
    began: float = field(default_factory=monotonic)

    async def follow(self, match: Match) -> None:
        start = self.tuner.tune.iteration

        def shown() -> list[Row]:
            return rows(self.tuner.tune, start, monotonic() - self.began)

        labels = frozenset(["Pairs", *(one.line.name for one in self.tuner.tune.parameters)])
        with display("tune", shown, quiet=self.quiet, shown=labels) as live:
            async with match:
                async for event in match:
                    if isinstance(event, GameEnded):
                        await self.threads.io(self.files.add, event)
                    elif isinstance(event, PairEnded):
                        entry = self.tuner.after(pair_score_of(event.pair))
                        await self.threads.io(self.writer.add, entry)
                    live.changed()


def rows(tune: Tune, start: int, seconds: float) -> list[Row]:
    """Where the parameters stand, and how long it will still take."""
    wanted, done = tune.schedule.iterations, tune.iteration
    speed = (done - start) / seconds if seconds > 0 else 0.0
    left = duration((wanted - done) / speed) if speed else "unknown"
    values = zip(tune.parameters, tune.thetas, strict=True)
    return [
        ("Pairs", f"{done} of {wanted}"),
        ("Left", left),
        *((one.line.name, f"{theta:.6g} (from {one.line.start:g})") for one, theta in values),
    ]


def _tell(tune: Tune, *, as_json: bool) -> None:
    last, late = tune.thetas, late_mean(tune)
    if as_json:
        print(
            json.dumps(
                {
                    "pairs": tune.iteration,
                    "values": as_mapping(tune, last),
                    "late_mean": as_mapping(tune, late),
                    "lines": list(as_lines(tune, last)),
                }
            )
        )
        return
    for label, text in rows(tune, 0, 0.0):
        if label != "Left":
            print(f"{label}  {text}")
    print("Mean of the last fifth:")
    print("\n".join(as_setoption(tune, late)))
    print("To go on from the last values:")
    print("\n".join(as_lines(tune, last)))
