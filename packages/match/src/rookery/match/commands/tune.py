"""`rookery tune`: tunes an engine's options on this machine, by SPSA, and says what it found."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from time import monotonic
from typing import Annotated

from cyclopts import Group, Parameter

from rookery.core.boundary.offload import Threads
from rookery.core.command import BadArgument, Schedule, as_words, option, read_text_file, warn
from rookery.core.display import Row, display, duration
from rookery.core.stats.spsa import Tune, as_lines, as_mapping, as_setoption, late_mean, new_tune
from rookery.core.stats.spsa_parameters import Concern, remarks
from rookery.match.commands.options import (
    GameFlags,
    choose_concurrency,
    load_book,
    make_engine,
    make_openings,
    make_setup,
    name_program,
    waiting,
    warn_of_openings,
)
from rookery.match.commands.session import (
    INTERRUPTS,
    THIS_SESSION,
    GameFiles,
    ResumeFile,
    SessionFlags,
    parse_before,
    resumable,
)
from rookery.match.job import EngineSpec, GameEnded, Match, PairEnded
from rookery.match.pgn import JournalWriter
from rookery.match.results import pair_score_of
from rookery.match.sharded import ShardedMatch
from rookery.match.tuning import Tuner
from rookery.match.uci import inspect_engines

TUNE = Group("Tune", sort_key=2)


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class TuneFlags(GameFlags):
    """Everything that defines a tune except its schedule."""

    engine: Annotated[str | None, option("the engine to tune", "COMMAND", group=TUNE)] = None
    parameters: Annotated[
        Path | None, option("file with the parameters, see above", "FILE", group=TUNE)
    ] = None
    games: Annotated[int, option("games to play", "N", group=TUNE)] = 4000


A_TUNE, USUAL_SCHEDULE = TuneFlags(), Schedule()


def tune(
    *,
    flags: TuneFlags = A_TUNE,
    schedule: Annotated[Schedule, Parameter(name="*", group=TUNE)] = USUAL_SCHEDULE,
    session: SessionFlags = THIS_SESSION,
) -> int:
    """Tune an engine's options by SPSA on this machine, and print the values found.

    example:

      rookery tune --engine ./a --parameters file.txt --games 4000 --tc 1+0.01

    The file has one line for each parameter: name,start,min,max,c_end,r_end or, with a type,
    name,int|float,start,min,max,c_end,r_end. `rookery stats spsa` shows what such lines mean.

    Exit codes: 0 done, 2 the command line is wrong, 3 it could not be played, 130
    interrupted, with a resume file.
    """
    if session.resume is not None:
        before = parse_before(tune, "tune", session)
        flags, session = before["flags"], before["session"]
        schedule = before.get("schedule", schedule)
    words = as_words(flags, schedule, SessionFlags(failures=session.failures))
    return resumable("tune", session, words, lambda file: _tune(flags, schedule, session, file))


def _tune(flags: TuneFlags, schedule: Schedule, session: SessionFlags, file: ResumeFile) -> int:
    if flags.engine is None or flags.parameters is None:
        raise BadArgument("Give --engine and --parameters.")
    if flags.games < 2 or flags.games % 2:
        raise BadArgument("--games must be even: each opening is played with both colours.")
    begun = new_tune(read_text_file(flags.parameters), flags.games, **asdict(schedule))
    book = load_book(flags)
    engine = make_engine(flags, name_program(flags.engine), flags.engine)
    tuner = Tuner(begun, engine, make_openings(flags, book), Random(flags.seed))  # noqa: S311 - no secret
    for entry in file.kept.entries:
        tuner.recall(entry)
    setup = make_setup(flags, chess960=book is not None and book.is_chess960)
    match = ShardedMatch(tuner.jobs(), setup, concurrency=choose_concurrency(flags, engine.threads))
    files = GameFiles({}, flags.pgn, session.failures, "tune")
    _check_parameters(begun, engine, quiet=session.json)
    warn_of_openings(book, flags.games // 2)
    with file.journal() as writer:
        INTERRUPTS.run(_TuneSession(tuner, files, writer, quiet=session.json).follow(match))
    _tell(tuner.tune, as_json=session.json)
    return 0


def _check_parameters(tune: Tune, engine: EngineSpec, *, quiet: bool) -> None:
    """Warn of implausible parameters. Raises BadArgument for one that the engine does not have."""
    (found,) = INTERRUPTS.run(inspect_engines([engine], waiting(quiet=quiet)))
    for remark in remarks(tune.parameters, found.options):
        if remark.concern is Concern.UNKNOWN_OPTION:
            raise BadArgument(f"{remark.text}.")
        warn(remark.text)


@dataclass(slots=True)
class _TuneSession:
    """One session of a tune: its progress and its display."""

    tuner: Tuner
    files: GameFiles
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
    """Return the present values of the parameters, and the remaining time of the tune."""
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
