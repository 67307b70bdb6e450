"""`rookery match`: plays engines against one another on this machine and says who is better.

  two engines:      rookery match --new ./a --base ./b --tc 1+0.01 --sprt 0 5
  several engines:  rookery match --engine cmd=./a --engine cmd=./b --engine cmd=./c --games 200

Exit codes: 0 accepted, or all games of a match without a test played; 1 rejected; 2 the command
line makes no sense; 3 the match could not be played; 4 no verdict within the games allowed; 130
interrupted, with a resume file.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rookery.cli.arguments import BadArgument
from rookery.cli.match_arguments import (
    add_playing,
    book_of,
    concurrency_of,
    described_engine,
    engine_of,
    openings_from,
    setup_of,
    waiting,
    warn,
    warn_of_openings,
)
from rookery.cli.match_fastchess import fastchess_match, name_for_fastchess, require_fastchess
from rookery.cli.match_resume import INTERRUPTS, Games, Sitting, add_session, resumable
from rookery.cli.match_session import Outcome, Session
from rookery.cli.watch import ACCEPTED, REJECTED, UNDECIDED
from rookery.match.fastchess import FastchessProgram
from rookery.match.job import EngineSpec, Match, gauntlet, pair_jobs, round_robin
from rookery.match.pgn import Journal
from rookery.match.sharded import ShardedMatch
from rookery.match.uci import InspectedEngine, inspect_engines, unknown_options
from rookery.stats.numbers import StatisticsFault
from rookery.stats.sprt import EloModel, Sprt, Verdict

MODELS = {"normalized": EloModel.NORMALISED, "logistic": EloModel.LOGISTIC}
FIXED_GAMES = 100


@dataclass(frozen=True, slots=True)
class Field:
    """Who plays: the engines, and which of them meet."""

    engines: tuple[EngineSpec, ...]
    pairings: tuple[tuple[EngineSpec, EngineSpec], ...]

    @property
    def threads(self) -> int:
        return max(engine.threads for engine in self.engines)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = __doc__
    parser.set_defaults(run=run)
    _add_engines(parser)
    _add_length(parser)
    parser.add_argument(
        "--runner",
        choices=("builtin", "fastchess"),
        default="builtin",
        help="who referees: the built-in runner (default), or the fastchess on the PATH",
    )
    add_playing(parser)
    add_session(parser)


def _add_engines(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("engines")
    for side in ("new", "base"):
        group.add_argument(f"--{side}", metavar="COMMAND", help=f"the {side} engine")
        group.add_argument(f"--{side}-tc", metavar="TC", help="its own time control")
        group.add_argument(f"--{side}-threads", type=int, metavar="N", help="its own threads")
        group.add_argument(f"--{side}-option", action="append", default=[], metavar="NAME=VALUE",
                           help="for this engine alone; may be repeated")  # fmt: skip
    group.add_argument(
        "--engine",
        action="append",
        nargs="+",
        default=[],
        metavar="KEY=VALUE",
        help="cmd=, name=, tc=, threads=, dir=, option.NAME=; repeat for each engine",
    )
    group.add_argument("--gauntlet", action="store_true", help="the first against all others")


def _add_length(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("length")
    group.add_argument("--games", type=int, metavar="N", help="at most so many, for each pairing")
    group.add_argument("--sprt", nargs=2, type=float, metavar=("ELO0", "ELO1"),
                       help="a sequential test between these bounds")  # fmt: skip
    group.add_argument("--model", choices=tuple(MODELS), default="normalized",
                       help="of the bounds (default: normalized)")  # fmt: skip
    group.add_argument("--alpha", type=float, default=0.05, metavar="P",
                       help="chance to accept what is worth ELO0 (default: 0.05)")  # fmt: skip
    group.add_argument("--beta", type=float, default=0.05, metavar="P",
                       help="chance to reject what is worth ELO1 (default: 0.05)")  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Plays the match, or what is left of it."""
    return resumable(args, "match", add_arguments, _play)


def _play(args: argparse.Namespace, sitting: Sitting) -> int:
    kept = sitting.kept
    field = field_of(args)
    sprt = sprt_of(args, field)
    book = book_of(args)
    rounds = rounds_of(args, sprt)
    setup = setup_of(args, chess960=book is not None and book.is_chess960)
    concurrency = concurrency_of(args, field.threads)
    fastchess = fastchess_of(args, kept)
    found = INTERRUPTS.run(inspect_engines(field.engines, waiting(quiet=args.json)))
    warn_of_unknown_options(field.engines, found)
    field = named(
        args, field, [one.name for one in found], for_fastchess=args.runner == "fastchess"
    )
    look_over_names(field, kept)
    warn_of_openings(book, rounds)
    match: Match
    if fastchess is None:
        todo = pair_jobs(
            field.pairings, openings_from(args, book), rounds=rounds, played=kept.numbers
        )
        match = ShardedMatch(todo, setup, concurrency=concurrency)
    else:
        match = fastchess_match(fastchess, args, field.engines, setup, rounds, concurrency)
    names = tuple(engine.name for engine in field.engines)
    # fastchess writes its games itself.
    own_pgn = args.pgn if fastchess is None else None
    event = " vs ".join(names)
    files = Games({one.name: one for one in field.engines}, own_pgn, args.failures, event)
    wanted = None if rounds is None else 2 * rounds * len(field.pairings)
    runner = "the built-in runner" if fastchess is None else fastchess.line
    if not args.json:
        print(f"{' against '.join(names)}, played by {runner}, {concurrency} at a time", flush=True)
    with sitting.journal() as writer:
        session = Session(names, sprt, files, writer, games_wanted=wanted, quiet=args.json)
        session.recall(kept)
        outcome = INTERRUPTS.run(session.follow(match))
    return _tell(outcome, files, runner, as_json=args.json)


def fastchess_of(args: argparse.Namespace, kept: Journal) -> FastchessProgram | None:
    """fastchess if it is to play, which it does only from the beginning; raises BadArgument."""
    if args.runner != "fastchess":
        return None
    if kept.entries:
        warn("fastchess can't go on in the middle: the built-in runner plays the rest")
        return None
    return require_fastchess()


def look_over_names(field: Field, kept: Journal) -> None:
    """A table can't add up engines that go by other names than before; raises BadArgument."""
    before = {name for entry in kept.entries for name in (entry.pair.first, entry.pair.second)}
    if others := before - {engine.name for engine in field.engines}:
        said = f"the games so far were played by {' and '.join(sorted(others))}"
        if len(field.engines) > 2:
            raise BadArgument(f"The engines have changed: {said}.")
        warn(said)


def warn_of_unknown_options(
    engines: Sequence[EngineSpec], found: Sequence[InspectedEngine]
) -> None:
    """A misspelt option changes nothing, and nobody would notice."""
    for engine, said in zip(engines, found, strict=True):
        for name in unknown_options(engine, said.options):
            warn(f"the engine {engine.name} has no option {name}")


def _tell(outcome: Outcome, files: Games, runner: str, *, as_json: bool) -> int:
    if as_json:
        print(json.dumps({"runner": runner, **outcome.data}))
    else:
        width = max(len(label) for label, _ in outcome.rows)
        print("\n".join(f"{label:{width}}  {text}" for label, text in outcome.rows))
        if files.failed:
            print(f"{files.failed} games were lost by failing engines; see {files.failures}")
    if outcome.sprt is None or outcome.verdict is Verdict.ACCEPTED:
        return ACCEPTED
    return REJECTED if outcome.verdict is Verdict.REJECTED else UNDECIDED


def field_of(args: argparse.Namespace) -> Field:
    """The engines of the command line; raises BadArgument."""
    if bool(args.new or args.base) == bool(args.engine):
        raise BadArgument("Give --new and --base, or --engine for each of several.")
    engines = _described(args) if args.engine else (_side(args, "new"), _side(args, "base"))
    if len(engines) < 2:
        raise BadArgument("A match needs two engines.")
    return _paired(args, engines)


def _paired(args: argparse.Namespace, engines: tuple[EngineSpec, ...]) -> Field:
    return Field(engines, tuple(gauntlet(engines) if args.gauntlet else round_robin(engines)))


def named(
    args: argparse.Namespace, field: Field, own: Sequence[str], *, for_fastchess: bool = False
) -> Field:
    """The same engines by the names they give themselves, unless the command line named them."""
    given = [any(word.startswith("name=") for word in words) for words in args.engine]
    wished = [
        engine.name if kept or not name else name
        for engine, name, kept in zip(field.engines, own, given or [False, False], strict=True)
    ]
    if not args.engine and wished[0] == wished[1]:
        wished = [f"{wished[0]} (new)", f"{wished[1]} (base)"]
    names: list[str] = []
    for name in map(name_for_fastchess, wished) if for_fastchess else wished:
        same = sum(one.partition("#")[0] == name for one in names)
        names.append(f"{name}#{same + 1}" if same else name)
    engines = zip(field.engines, names, strict=True)
    return _paired(args, tuple(replace(engine, name=name) for engine, name in engines))


def _side(args: argparse.Namespace, side: str) -> EngineSpec:
    given = vars(args)
    if given[side] is None:
        raise BadArgument(f"--{side} is missing.")
    return engine_of(
        args,
        side,
        given[side],
        options=given[f"{side}_option"],
        tc=given[f"{side}_tc"],
        threads=given[f"{side}_threads"],
    )


def _described(args: argparse.Namespace) -> tuple[EngineSpec, ...]:
    """Engines of the same name are told apart by a number."""
    engines: list[EngineSpec] = []
    for words in args.engine:
        engine = described_engine(args, words)
        same = sum(one.name.partition("#")[0] == engine.name for one in engines)
        engines.append(replace(engine, name=f"{engine.name}#{same + 1}") if same else engine)
    return tuple(engines)


def sprt_of(args: argparse.Namespace, field: Field) -> Sprt | None:
    if args.sprt is None:
        return None
    if len(field.engines) != 2:
        raise BadArgument("--sprt is a test between two engines.")
    try:
        return Sprt(
            args.sprt[0], args.sprt[1], MODELS[args.model], alpha=args.alpha, beta=args.beta
        )
    except StatisticsFault as fault:
        raise BadArgument(str(fault)) from None


def rounds_of(args: argparse.Namespace, sprt: Sprt | None) -> int | None:
    """Pairs of each pairing; a test without a limit goes on until it has its verdict."""
    games = args.games if args.games is not None or sprt else FIXED_GAMES
    if games is None:
        return None
    if games < 2 or games % 2:
        raise BadArgument("--games is an even number: openings are played with both colours.")
    return games // 2
