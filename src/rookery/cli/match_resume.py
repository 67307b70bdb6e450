"""Sittings of a match or a tune: the resume file, an interruption, and how it goes on after one."""

import argparse
import asyncio
import contextlib
import os
import shlex
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import TypeVar

from rookery.boundary.bridge import call_soon
from rookery.match.job import EngineSpec, GameEnded, MatchFault, file_fault
from rookery.match.pgn import Journal, JournalHeader, JournalWriter, Tag, pgn_text, read_journal

T = TypeVar("T")
INTERRUPTED = 130
SAME_SECONDS = 1.0
FAILURES = "match-failures.txt"
OF_ONE_SITTING = frozenset({"run", "json", "resume", "resume_file"})
NUMBERS = frozenset({"sprt", "resign", "draw"})
"""Options that take several numbers at once."""


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
class Sitting:
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


def add_session(parser: argparse.ArgumentParser) -> None:
    """What has to do with one sitting and not with the games."""
    group = parser.add_argument_group("session")
    group.add_argument("--json", action="store_true", help="print one JSON object at the end")
    group.add_argument("--resume", type=Path, metavar="FILE", help="go on where it was left")
    group.add_argument("--resume-file", type=Path, metavar="FILE", help="keep the resume file here")
    group.add_argument(
        "--failures",
        type=Path,
        default=Path(FAILURES),
        metavar="FILE",
        help=f"keep what engines did wrong (default: {FAILURES})",
    )


def resumable(
    args: argparse.Namespace,
    kind: str,
    add_arguments: Callable[[argparse.ArgumentParser], None],
    play: Callable[[argparse.Namespace, Sitting], int],
) -> int:
    """Play from the beginning or from a resume file; an interruption says how to go on."""
    if args.resume is None:
        path = args.resume_file or _default(kind)
        sitting = Sitting(
            path, Journal(JournalHeader(kind, words_of(args)), ()), bool(args.resume_file)
        )
    else:
        sitting = Sitting(args.resume, read_journal(args.resume, kind), keep=True)
        args = _asked_before(args, sitting.kept, add_arguments)
    INTERRUPTS.take_over()
    try:
        return play(args, sitting)
    except KeyboardInterrupt:
        # Whoever reads the results as data is not to find this among them.
        INTERRUPTS.ignore()
        print(f"\nInterrupted.{sitting.way_on(kind)}", file=sys.stderr if args.json else sys.stdout)
        return INTERRUPTED
    except MatchFault:
        sitting.leave(kind)
        raise


def _default(kind: str) -> Path:
    """Beside where one works, named after the moment."""
    return Path(f"{kind}-{datetime.now(UTC):%Y%m%d-%H%M%S-%f}.resume")


def _asked_before(
    args: argparse.Namespace,
    kept: Journal,
    add_arguments: Callable[[argparse.ArgumentParser], None],
) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    asked = parser.parse_args(list(kept.head.words))
    asked.json = args.json
    return asked


def words_of(args: argparse.Namespace) -> tuple[str, ...]:
    """The arguments once more, as a later sitting reads them."""
    words: list[str] = []
    for name, value in vars(args).items():
        if name not in OF_ONE_SITTING and value not in (None, False, []):
            words.extend(_words(name, value))
    return tuple(words)


def _words(name: str, value: object) -> Iterator[str]:
    flag = f"--{'A' if name == 'a_ratio' else name.replace('_', '-')}"
    if value is True:
        yield flag
    elif not isinstance(value, list):
        yield f"{flag}={value}"
    elif name in NUMBERS:
        yield from (flag, *map(str, value))
    else:
        for one in value:
            yield from (flag, *one) if isinstance(one, list) else (f"{flag}={one}",)


# The files a match adds to while it is played: its games, and what failing engines said.


class Games:
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
