"""Sessions of a match or a tune: the resume file, an interruption, how it goes on after one, and
the games written meanwhile."""

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

from rookery.boundary.bridge import call_soon
from rookery.cli.options import option, parse_again
from rookery.match.job import EngineSpec, GameEnded, MatchFault, file_fault
from rookery.match.pgn import Journal, JournalHeader, JournalWriter, Tag, pgn_text, read_journal

T = TypeVar("T")
INTERRUPTED = 130
SAME_SECONDS = 1.0
FAILURES = "match-failures.txt"


class Interrupts:
    """What SIGINT and SIGTERM do to this process: the first ends it in order, whenever it comes.

    Those that follow within SAME_SECONDS mean the same end: `timeout`, service managers and
    impatient people send more than one. A later one is from somebody who does not want to wait:
    the process ends at once, and the runner processes end with it, as their input does.

    asyncio's own way is not used because it raises a second signal in the middle of the loop, whose
    tasks are then never ended, and neither are the threads that wait for them.
    """

    def __init__(self) -> None:
        self._first: float | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[object] | None = None
        self._running = False

    def take_over(self) -> None:
        """From now on, for the rest of the process; the main thread's to call."""
        self._first = None
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._hear)

    def ignore(self) -> None:
        """Once all is ended: what is left is the interpreter's own end, with an exit code."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)

    def run(self, work: Coroutine[object, object, T]) -> T:
        """Like asyncio.run; interrupted, it ends all tasks and raises KeyboardInterrupt."""
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
            # It may be asleep, waiting for something to happen.
            call_soon(self._loop, _nothing)


def _nothing() -> None:
    """Wakes a loop."""


INTERRUPTS = Interrupts()
"""A process has one set of signals, so there is one of these."""


@dataclass(frozen=True, slots=True)
class ResumeFile:
    """Where the resume file is, what it says already, and whether it outlives the match."""

    path: Path
    kept: Journal
    keep: bool

    @contextlib.contextmanager
    def journal(self) -> Iterator[JournalWriter]:
        """The file to add to; once all is played it has no more use and goes, if it may."""
        with JournalWriter(self.path, self.kept.head) as writer:
            yield writer
        if not self.keep:
            self.path.unlink(missing_ok=True)

    def way_on(self, kind: str) -> str:
        """How to go on later, if there is anything to go on with."""
        return f" To go on: rookery {kind} --resume {self.path}" if self.path.exists() else ""

    def leave(self, kind: str) -> None:
        """After a fault: what was played can be gone on with once its cause is gone."""
        if not self.path.exists():
            return
        if read_journal(self.path, kind).entries:
            print(f"To go on: rookery {kind} --resume {self.path}", file=sys.stderr)
        elif not self.keep:
            self.path.unlink()


@Parameter(name="*", group=Group("Session", sort_key=7))
@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFlags:
    """What has to do with one session and not with the games."""

    json: Annotated[bool, option("print one JSON object at the end")] = False
    resume: Annotated[Path | None, option("go on where it was left", "FILE")] = None
    resume_file: Annotated[Path | None, option("keep the resume file here", "FILE")] = None
    failures: Annotated[Path, option("keep what engines did wrong", "FILE")] = Path(FAILURES)


THIS_SESSION = SessionFlags()


def resumable(
    kind: str, session: SessionFlags, words: Sequence[str], play: Callable[[ResumeFile], int]
) -> int:
    """Plays from the beginning or from a resume file; an interruption says how to go on. The words
    are those that a later session starts from."""
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
        # Whoever reads the results as data is not to find this among them.
        INTERRUPTS.ignore()
        print(f"\nInterrupted.{file.way_on(kind)}", file=sys.stderr if session.json else sys.stdout)
        return INTERRUPTED
    except MatchFault:
        file.leave(kind)
        raise


def _default(kind: str) -> Path:
    """Beside where one works, named after the moment."""
    return Path(f"{kind}-{datetime.now(UTC):%Y%m%d-%H%M%S-%f}.resume")


def parse_before(
    command: Callable[..., object], kind: str, session: SessionFlags
) -> dict[str, Any]:
    """The arguments that a match or a tune was begun with, in this session."""
    assert session.resume is not None
    before = parse_again(command, read_journal(session.resume, kind).head.words)
    failures = before.get("session", session).failures
    return before | {"session": replace(session, failures=failures)}


# The files a match adds to while it is played: its games, and what failing engines said.


class GameFiles:
    """Writes finished games, and what went wrong in those an engine failed."""

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
        # Another runner's games come without their moves.
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
    """What a replay needs to know about a side."""
    yield f"{colour}TimeControl", spec.tc
    yield f"{colour}Command", shlex.join(spec.command)
    yield f"{colour}Options", "; ".join(f"{name}={value}" for name, value in spec.options)


def _append(path: Path, text: str) -> None:
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise file_fault(path, error) from None
