"""Sessions of a match or a tune: interruptions, the resume file, the games that are written, and
following a match to its end."""

import asyncio
import contextlib
import os
import shlex
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Annotated, Any, TypeVar

from cyclopts import Group, Parameter

from rookery.core.boundary.bridge import call_soon
from rookery.core.boundary.offload import Threads
from rookery.core.command import option, parse_again
from rookery.core.display import Display, Row, display
from rookery.core.model.task import NOTHING, Results
from rookery.core.stats.sprt import Sprt, Verdict
from rookery.match.clock import Latency
from rookery.match.commands.show import Data, Progress, data, latency_data, rows
from rookery.match.job import (
    EngineSpec,
    Event,
    GameEnded,
    LatencyMeasured,
    Match,
    MatchFault,
    PairEnded,
    file_fault,
)
from rookery.match.pgn import (
    Journal,
    JournalEntry,
    JournalHeader,
    JournalWriter,
    Tag,
    pgn_text,
    read_journal,
)
from rookery.match.results import (
    MatchScore,
    Pairing,
    PairScore,
    Rating,
    pair_score_of,
    rate_engines,
)

T = TypeVar("T")
INTERRUPTED = 130
SAME_SECONDS = 1.0
FAILURES = "match-failures.txt"


class Interrupts:
    """Handles SIGINT and SIGTERM: the first signal ends the process in an orderly way, whenever it
    comes.

    Further signals within SAME_SECONDS are ignored, because `timeout`, service managers and
    impatient people send more than one. A later signal ends the process at once. The runner
    processes then end too, since their input is closed.

    asyncio's own handling is not used, because it raises the second signal in the middle of the
    loop; then neither its tasks are ended nor the threads that wait for them.
    """

    def __init__(self) -> None:
        self._first: float | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[object] | None = None
        self._running = False

    def take_over(self) -> None:
        """Handle the signals from now on. Only the main thread may call this."""
        self._first = None
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._hear)

    def ignore(self) -> None:
        """Ignore the signals while the interpreter ends."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)

    def run(self, work: Coroutine[object, object, T]) -> T:
        """Like asyncio.run. If interrupted, it ends all tasks and raises KeyboardInterrupt."""
        self._running = True
        try:
            result = asyncio.run(self._follow(work))
        except asyncio.CancelledError:
            if self._first is None:
                raise
            raise KeyboardInterrupt from None
        finally:
            self._running = False
        if self._first is not None:
            raise KeyboardInterrupt
        return result

    async def _follow(self, work: Coroutine[object, object, T]) -> T:
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        if self._first is not None:
            work.close()
            raise asyncio.CancelledError
        try:
            return await work
        finally:
            self._task = None

    def _hear(self, *_: object) -> None:
        now = monotonic()
        if self._first is not None:
            if now - self._first > SAME_SECONDS:
                os._exit(INTERRUPTED)
            return
        self._first = now
        if not self._running:
            raise KeyboardInterrupt
        if self._task is not None and self._loop is not None:
            self._task.cancel()
            # The loop may be asleep, waiting for events.
            call_soon(self._loop, _nothing)


def _nothing() -> None:
    """Do nothing; scheduling it wakes the loop."""


INTERRUPTS = Interrupts()
"""The only instance, since a process has one set of signal handlers."""


@dataclass(frozen=True, slots=True)
class ResumeFile:
    """The path of the resume file, its content so far, and whether to keep it after the match."""

    path: Path
    kept: Journal
    keep: bool

    @contextlib.contextmanager
    def journal(self) -> Iterator[JournalWriter]:
        """Open the resume file for appending, and remove it at the end of the match unless it is
        kept."""
        with JournalWriter(self.path, self.kept.head) as writer:
            yield writer
        if not self.keep:
            self.path.unlink(missing_ok=True)

    def describe_resume_command(self, kind: str) -> str:
        """Return a sentence with the command that continues later; empty if nothing was stored."""
        return f" To continue: rookery {kind} --resume {self.path}" if self.path.exists() else ""

    def leave(self, kind: str) -> None:
        """After a fault, print how to continue, or remove a file without games."""
        if not self.path.exists():
            return
        if read_journal(self.path, kind).entries:
            print(f"To continue: rookery {kind} --resume {self.path}", file=sys.stderr)
        elif not self.keep:
            self.path.unlink()


@Parameter(name="*", group=Group("Session", sort_key=7))
@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFlags:
    """The flags of one session that do not affect the games."""

    json: Annotated[bool, option("print one JSON object at the end")] = False
    resume: Annotated[Path | None, option("continue from this resume file", "FILE")] = None
    resume_file: Annotated[Path | None, option("where to keep the resume file", "FILE")] = None
    failures: Annotated[Path, option("file for failures of engines", "FILE")] = Path(FAILURES)


THIS_SESSION = SessionFlags()


def resumable(
    kind: str, session: SessionFlags, words: Sequence[str], play: Callable[[ResumeFile], int]
) -> int:
    """Play from the start or from a resume file. After an interruption print how to continue. A
    later session starts from `words`."""
    if session.resume is None:
        path = session.resume_file or _default(kind)
        journal = Journal(JournalHeader(kind, tuple(words)), ())
        file = ResumeFile(path, journal, keep=bool(session.resume_file))
    else:
        file = ResumeFile(session.resume, read_journal(session.resume, kind), keep=True)
    INTERRUPTS.take_over()
    try:
        return play(file)
    except KeyboardInterrupt:
        # Keep the message apart from results that are read as data.
        INTERRUPTS.ignore()
        out = sys.stderr if session.json else sys.stdout
        print(f"\nInterrupted.{file.describe_resume_command(kind)}", file=out)
        return INTERRUPTED
    except MatchFault:
        file.leave(kind)
        raise


def _default(kind: str) -> Path:
    """Return a resume file in the current folder, named after the time."""
    return Path(f"{kind}-{datetime.now(UTC):%Y%m%d-%H%M%S-%f}.resume")


def parse_before(
    command: Callable[..., object], kind: str, session: SessionFlags
) -> dict[str, Any]:
    """Return the arguments of an earlier match or tune, for this session."""
    assert session.resume is not None
    before = parse_again(command, read_journal(session.resume, kind).head.words)
    failures = before.get("session", session).failures
    return before | {"session": replace(session, failures=failures)}


# The files that grow during a match: its games, and the output of failing engines.


class GameFiles:
    """Writes finished games, and the details of games in which an engine failed."""

    def __init__(
        self, engines: Mapping[str, EngineSpec], games: Path | None, failures: Path, event: str
    ) -> None:
        self._engines = engines
        self._games = games
        self.failures = failures
        self._event = event
        self.failed = 0

    def add(self, ended: GameEnded) -> None:
        game = ended.result
        if self._games is None and not game.failed:
            return
        # Games of fastchess come without their moves.
        text = pgn_text(game, self._tags(ended)) if game.fen else ""
        if self._games is not None:
            _append(self._games, text)
        if game.failed:
            self.failed += 1
            lines = "\n".join(game.lines)
            _append(self.failures, f"{game.failed}: {game.reason}\n\n{text}{lines}\n\n{'-' * 79}\n")

    def _tags(self, ended: GameEnded) -> list[Tag]:
        tags = [
            ("Event", self._event),
            ("Site", "?"),
            ("Date", f"{datetime.now(UTC):%Y.%m.%d}"),
            ("Round", f"{ended.pair + 1}.{ended.game + 1}"),
        ]
        for colour, name in (("White", ended.result.white), ("Black", ended.result.black)):
            if spec := self._engines.get(name):
                tags.extend(_engine_tags(colour, spec))
        return tags


def _engine_tags(colour: str, spec: EngineSpec) -> Iterator[Tag]:
    """PGN tags about a side that a replay needs."""
    yield f"{colour}TimeControl", spec.tc
    yield f"{colour}Command", shlex.join(spec.command)
    yield f"{colour}Options", "; ".join(f"{name}={value}" for name, value in spec.options)


def _append(path: Path, text: str) -> None:
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise file_fault(path, error) from None


class MatchSession:
    """Follows a match, and counts and shows its games. Only the task that follows the match changes
    it."""

    def __init__(
        self,
        names: Sequence[str],
        sprt: Sprt | None,
        files: GameFiles,
        writer: JournalWriter,
        *,
        games_wanted: int | None,
        quiet: bool,
    ) -> None:
        self._names = names
        self._files = files
        self._writer = writer
        self._wanted = games_wanted
        self._quiet = quiet
        self._score = MatchScore(sprt)
        self._meetings: dict[Pairing, Results] = {}
        self._latency: Latency | None = None
        self._threads = Threads()
        self._began = monotonic()
        self._games_before = 0

    def recall(self, kept: Journal) -> None:
        """Count the games of earlier sessions."""
        for entry in kept.entries:
            self._count(entry.pair)
        self._games_before = self._score.results.games

    @property
    def verdict(self) -> Verdict | None:
        """The verdict of the test; None for a match without a test."""
        return self._score.verdict if self._score.sprt else None

    async def follow(self, match: Match) -> None:
        """Play until there is a verdict or the match ends."""
        with display(" against ".join(self._names), self.rows, quiet=self._quiet) as shown:
            if self._score.verdict is Verdict.RUNNING:
                await self._follow(match, shown)

    async def _follow(self, match: Match, shown: Display) -> None:
        async with match:
            async for event in match:
                await self._take(event)
                shown.changed()
                if self._score.verdict is not Verdict.RUNNING:
                    return

    async def _take(self, event: Event) -> None:
        if isinstance(event, GameEnded):
            # Formatting moves takes milliseconds, and the loop has events to read.
            await self._threads.io(self._files.add, event)
        elif isinstance(event, PairEnded):
            score = pair_score_of(event.pair)
            self._count(score)
            await self._threads.io(self._writer.add, JournalEntry(score))
        elif isinstance(event, LatencyMeasured):
            self._latency = event.latency

    def _count(self, pair: PairScore) -> None:
        self._score = self._score.after(pair)
        pairing = pair.first, pair.second
        # A new dictionary each time, because the display's thread may be reading the old one.
        results = self._meetings.get(pairing, NOTHING) + pair.results
        self._meetings = {**self._meetings, pairing: results}

    def rows(self) -> list[Row]:
        """Return the present figures as rows."""
        if len(self._names) == 2:
            return rows(self._progress())
        games = self._score.results.games
        wanted = f" of {self._wanted}" if self._wanted else ""
        return [("Games", f"{games}{wanted}"), *_rating_rows(self._ratings())]

    def _progress(self) -> Progress:
        """Return the score, with the speed of this session only."""
        seconds = monotonic() - self._began
        games = self._score.results.games
        played = games - self._games_before
        spent = seconds * games / played if played else 0.0
        return Progress(self._score, spent, self._wanted, self._latency)

    def _ratings(self) -> list[Rating]:
        return rate_engines(self._names, self._meetings)

    def last_rows(self) -> list[Row]:
        """Return the final figures for people."""
        shown = [row for row in self.rows() if row[0] != "Left"]
        if self._score.sprt:
            shown.append(("Verdict", self._score.verdict.value or "none"))
        return shown

    def data(self) -> Data:
        """Return the final figures for programs."""
        if len(self._names) == 2:
            return {"engines": list(self._names), **data(self._progress())}
        table: list[Data] = [
            {
                "name": one.name,
                "elo": one.elo,
                "error": one.error,
                "games": one.games,
                "score": one.score,
                "wins": one.results.wins,
                "losses": one.results.losses,
                "draws": one.results.draws,
            }
            for one in self._ratings()
        ]
        latency = {} if self._latency is None else {"latency": latency_data(self._latency)}
        return {"games": self._score.results.games, "ratings": table, **latency}


def _rating_rows(ratings: Sequence[Rating]) -> list[Row]:
    return [(one.name, _rating_text(one)) for one in ratings]


def _rating_text(one: Rating) -> str:
    counts = f"+{one.results.wins} -{one.results.losses} ={one.results.draws}"
    return f"{one.elo:+8.1f} ± {one.error:<6.1f} {one.score:g} of {one.games} ({counts})"
