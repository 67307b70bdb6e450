"""`rookery match`: plays engines against one another on this machine and says who is better."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Annotated, Literal

from cyclopts import Group, Parameter, Token

from rookery.core.command import BadArgument, Bounds, as_words, option, print_rows, warn
from rookery.core.display import ACCEPTED, REJECTED, UNDECIDED
from rookery.core.stats.numbers import StatisticsFault
from rookery.core.stats.sprt import EloModel, Sprt, Verdict
from rookery.match.commands.options import (
    GameFlags,
    book_path,
    choose_concurrency,
    load_book,
    make_engine,
    make_openings,
    make_setup,
    read_engine,
    waiting,
    warn_of_openings,
)
from rookery.match.commands.session import (
    INTERRUPTS,
    THIS_SESSION,
    GameFiles,
    MatchSession,
    ResumeFile,
    SessionFlags,
    parse_before,
    resumable,
)
from rookery.match.fastchess import FastchessMatch, FastchessProgram, find_fastchess
from rookery.match.fastchess_command import (
    FastchessFiles,
    Schedule,
    UnsupportedByFastchess,
    command_line,
    silence_seconds,
)
from rookery.match.job import EngineSpec, Match, Setup, gauntlet, pair_jobs, round_robin
from rookery.match.pgn import Journal
from rookery.match.sharded import ShardedMatch
from rookery.match.uci import InspectedEngine, inspect_engines, unknown_options

MODELS = {"normalized": EloModel.NORMALISED, "logistic": EloModel.LOGISTIC}
FIXED_GAMES = 100


@dataclass(frozen=True, slots=True)
class MatchField:
    """The engines of a match, and which of them play each other."""

    engines: tuple[EngineSpec, ...]
    pairings: tuple[tuple[EngineSpec, EngineSpec], ...]

    @property
    def threads(self) -> int:
        return max(engine.threads for engine in self.engines)


PLAYERS = Group("Engines", sort_key=2)
LENGTH = Group("Length", sort_key=3)


def read_engines(_type: object, tokens: Sequence[Token]) -> list[list[str]]:
    """Return the words after each --engine."""
    engines: list[list[str]] = []
    for token in tokens:
        if token.index == 0:
            engines.append([])
        engines[-1].append(token.value)
    return engines


def _side_option(purpose: str, metavar: str) -> Parameter:
    return option(purpose, metavar, group=PLAYERS)


def _length(purpose: str, metavar: str | None = None) -> Parameter:
    return option(purpose, metavar, group=LENGTH)


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class MatchFlags(GameFlags):
    """Everything that defines a match. A resume file stores these flags."""

    new: Annotated[str | None, _side_option("the new engine", "COMMAND")] = None
    new_tc: Annotated[str | None, _side_option("its own time control", "TC")] = None
    new_threads: Annotated[int | None, _side_option("its own threads", "N")] = None
    new_option: Annotated[
        list[str], _side_option("for this engine alone; may be repeated", "NAME=VALUE")
    ] = field(default_factory=list)
    base: Annotated[str | None, _side_option("the base engine", "COMMAND")] = None
    base_tc: Annotated[str | None, _side_option("its own time control", "TC")] = None
    base_threads: Annotated[int | None, _side_option("its own threads", "N")] = None
    base_option: Annotated[
        list[str], _side_option("for this engine alone; may be repeated", "NAME=VALUE")
    ] = field(default_factory=list)
    engine: Annotated[
        list[list[str]],
        option(
            "an engine: cmd=, name=, tc=, threads=, dir=, option.NAME=; repeat for each engine",
            "KEY=VALUE...",
            group=PLAYERS,
            converter=read_engines,
            consume_multiple=True,
            n_tokens=1,
            accepts_keys=False,
        ),
    ] = field(default_factory=list)
    gauntlet: Annotated[bool, option("the first engine plays all the others", group=PLAYERS)] = (
        False
    )
    games: Annotated[int | None, _length("most games of each pairing", "N")] = None
    sprt: Annotated[Bounds, _length("a sequential test between these bounds")] = None
    model: Annotated[Literal["normalized", "logistic"], _length("scale of the bounds", "MODEL")] = (
        "normalized"
    )
    alpha: Annotated[float, _length("chance to accept an engine that is worth ELO0", "P")] = 0.05
    beta: Annotated[float, _length("chance to reject an engine that is worth ELO1", "P")] = 0.05
    runner: Annotated[
        Literal["builtin", "fastchess"],
        option("what plays the games: the built-in runner, or the fastchess on the PATH", "RUNNER"),
    ] = "builtin"


A_MATCH = MatchFlags()


def match(*, flags: MatchFlags = A_MATCH, session: SessionFlags = THIS_SESSION) -> int:
    """Play engines against one another on this machine and say who is better.

    examples:

      rookery match --new ./a --base ./b --tc 1+0.01 --sprt 0 5
      rookery match --engine cmd=./a --engine cmd=./b --engine cmd=./c --games 200

    Exit codes: 0 accepted, or all games of a match without a test played; 1 rejected; 2 the command
    line is wrong; 3 the match could not be played; 4 no verdict within the games allowed; 130
    interrupted, with a resume file.
    """
    if session.resume is not None:
        before = parse_before(match, "match", session)
        flags, session = before["flags"], before["session"]
    words = as_words(flags, SessionFlags(failures=session.failures))
    return resumable("match", session, words, lambda file: _play(flags, session, file))


def _play(flags: MatchFlags, session: SessionFlags, file: ResumeFile) -> int:
    kept = file.kept
    field = read_field(flags)
    sprt = make_sprt(flags, field)
    book = load_book(flags)
    rounds = count_rounds(flags, sprt)
    setup = make_setup(flags, chess960=book is not None and book.is_chess960)
    concurrency = choose_concurrency(flags, field.threads)
    fastchess = choose_fastchess(flags, kept)
    found = INTERRUPTS.run(inspect_engines(field.engines, waiting(quiet=session.json)))
    warn_of_unknown_options(field.engines, found)
    field = named(
        flags, field, [one.name for one in found], for_fastchess=flags.runner == "fastchess"
    )
    check_names(field, kept)
    warn_of_openings(book, rounds)
    games: Match
    if fastchess is None:
        openings = make_openings(flags, book)
        todo = pair_jobs(field.pairings, openings, rounds=rounds, played=kept.numbers)
        games = ShardedMatch(todo, setup, concurrency=concurrency)
    else:
        games = fastchess_match(fastchess, flags, field.engines, setup, rounds, concurrency)
    names = tuple(engine.name for engine in field.engines)
    # fastchess writes the games itself.
    own_pgn = flags.pgn if fastchess is None else None
    by_name = {one.name: one for one in field.engines}
    files = GameFiles(by_name, own_pgn, session.failures, " vs ".join(names))
    wanted = None if rounds is None else 2 * rounds * len(field.pairings)
    runner = "the built-in runner" if fastchess is None else fastchess.line
    if not session.json:
        print(f"{' against '.join(names)}, played by {runner}, {concurrency} at a time", flush=True)
    with file.journal() as writer:
        play = MatchSession(names, sprt, files, writer, games_wanted=wanted, quiet=session.json)
        play.recall(kept)
        INTERRUPTS.run(play.follow(games))
    return _tell(play, files, runner, as_json=session.json)


def choose_fastchess(flags: MatchFlags, kept: Journal) -> FastchessProgram | None:
    """fastchess, if it is requested and the match is at its beginning. Raises BadArgument."""
    if flags.runner != "fastchess":
        return None
    if kept.entries:
        warn("fastchess can't continue a match: the built-in runner plays the rest")
        return None
    return require_fastchess()


def check_names(field: MatchField, kept: Journal) -> None:
    """Refuse to continue with engines of other names than before. Raises BadArgument."""
    before = {name for entry in kept.entries for name in (entry.pair.first, entry.pair.second)}
    if others := before - {engine.name for engine in field.engines}:
        said = f"the games so far were played by {' and '.join(sorted(others))}"
        if len(field.engines) > 2:
            raise BadArgument(f"The engines have changed: {said}.")
        warn(said)


def warn_of_unknown_options(
    engines: Sequence[EngineSpec], found: Sequence[InspectedEngine]
) -> None:
    """Warn of options that an engine does not have, since it would ignore them silently."""
    for engine, said in zip(engines, found, strict=True):
        for name in unknown_options(engine, said.options):
            warn(f"the engine {engine.name} has no option {name}")


def _tell(play: MatchSession, files: GameFiles, runner: str, *, as_json: bool) -> int:
    if as_json:
        print(json.dumps({"runner": runner, **play.data()}))
    else:
        print_rows(play.last_rows())
        if files.failed:
            print(f"{files.failed} games were lost by failing engines; see {files.failures}")
    if play.verdict in (None, Verdict.ACCEPTED):
        return ACCEPTED
    return REJECTED if play.verdict is Verdict.REJECTED else UNDECIDED


def read_field(flags: MatchFlags) -> MatchField:
    """Return the engines from the command line. Raise BadArgument."""
    if bool(flags.new or flags.base) == bool(flags.engine):
        raise BadArgument("Give --new and --base, or --engine for each engine.")
    engines = _described(flags) if flags.engine else (_side(flags, "new"), _side(flags, "base"))
    if len(engines) < 2:
        raise BadArgument("A match needs two engines.")
    return _paired(flags, engines)


def _paired(flags: MatchFlags, engines: tuple[EngineSpec, ...]) -> MatchField:
    return MatchField(engines, tuple(gauntlet(engines) if flags.gauntlet else round_robin(engines)))


def named(
    flags: MatchFlags, field: MatchField, own: Sequence[str], *, for_fastchess: bool = False
) -> MatchField:
    """Return the same engines with the names that they report, unless the command line names
    them."""
    given = [any(word.startswith("name=") for word in words) for words in flags.engine]
    wished = [
        engine.name if kept or not name else name
        for engine, name, kept in zip(field.engines, own, given or [False, False], strict=True)
    ]
    if not flags.engine and wished[0] == wished[1]:
        wished = [f"{wished[0]} (new)", f"{wished[1]} (base)"]
    names: list[str] = []
    for name in map(name_for_fastchess, wished) if for_fastchess else wished:
        same = sum(one.partition("#")[0] == name for one in names)
        names.append(f"{name}#{same + 1}" if same else name)
    engines = zip(field.engines, names, strict=True)
    return _paired(flags, tuple(replace(engine, name=name) for engine, name in engines))


def _side(flags: MatchFlags, side: str) -> EngineSpec:
    given = asdict(flags)
    if given[side] is None:
        raise BadArgument(f"--{side} is missing.")
    return make_engine(
        flags,
        side,
        given[side],
        options=given[f"{side}_option"],
        tc=given[f"{side}_tc"],
        threads=given[f"{side}_threads"],
    )


def _described(flags: MatchFlags) -> tuple[EngineSpec, ...]:
    """Return the engines given by --engine. Engines with equal names get a number."""
    engines: list[EngineSpec] = []
    for words in flags.engine:
        engine = read_engine(flags, words)
        same = sum(one.name.partition("#")[0] == engine.name for one in engines)
        engines.append(replace(engine, name=f"{engine.name}#{same + 1}") if same else engine)
    return tuple(engines)


def make_sprt(flags: MatchFlags, field: MatchField) -> Sprt | None:
    if flags.sprt is None:
        return None
    if len(field.engines) != 2:
        raise BadArgument("--sprt takes exactly two engines.")
    try:
        return Sprt(
            flags.sprt[0], flags.sprt[1], MODELS[flags.model], alpha=flags.alpha, beta=flags.beta
        )
    except StatisticsFault as fault:
        raise BadArgument(str(fault)) from None


def count_rounds(flags: MatchFlags, sprt: Sprt | None) -> int | None:
    """Return the pairs of each pairing. A test without a limit continues until it has a verdict."""
    games = flags.games if flags.games is not None or sprt else FIXED_GAMES
    if games is None:
        return None
    if games < 2 or games % 2:
        raise BadArgument("--games must be even: each opening is played with both colours.")
    return games // 2


# The match with fastchess, if requested.

_BRACKETS = str.maketrans("(){}", "[][]")


def require_fastchess() -> FastchessProgram:
    """fastchess on the PATH. Raises BadArgument."""
    found = find_fastchess()
    if found is None:
        raise BadArgument("--runner fastchess: there is no fastchess on the PATH.")
    if not found.is_recent:
        raise BadArgument(f"--runner fastchess: {found.path} is too old: {found.line}.")
    return found


def name_for_fastchess(name: str) -> str:
    """Return a name without the brackets and `vs` that structure fastchess's output."""
    return name.translate(_BRACKETS).replace(" vs ", " v ")


def fastchess_match(
    program: FastchessProgram,
    flags: MatchFlags,
    engines: Sequence[EngineSpec],
    setup: Setup,
    rounds: int | None,
    concurrency: int,
) -> FastchessMatch:
    """Return the match for fastchess. Raise BadArgument for flags that fastchess has no equivalent
    for."""
    try:
        if setup.strict_pvs:
            raise UnsupportedByFastchess("games lost by a variation")
        command = command_line(
            program.path,
            engines,
            setup,
            _files(flags),
            Schedule(rounds, concurrency, round_robin=not flags.gauntlet),
        )
    except UnsupportedByFastchess as fault:
        raise BadArgument(f"fastchess cannot play {fault}.") from None
    return FastchessMatch(command, silence_seconds(engines))


def _files(flags: MatchFlags) -> FastchessFiles:
    seed = flags.seed if flags.order == "random" else None
    plies = None if flags.book_depth is None else 2 * flags.book_depth
    return FastchessFiles(book_path(flags), plies, seed, flags.start, flags.pgn)
