"""A match played by fastchess, with the same events as the built-in runner."""

import asyncio
import contextlib
import re
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Self

from rookery.core.boundary.offload import Threads
from rookery.core.errors import describe_exit
from rookery.match import fastchess_guard
from rookery.match.job import (
    Event,
    GameEnded,
    GameResult,
    GameStarted,
    MatchFault,
    PairEnded,
    PairResult,
    Termination,
)

LONGEST_LINE = 2**20
GUARD_SECONDS = 5.0
"""How long the guard may take to end the remaining processes after its own time limit."""
MOST_COMPLAINTS = 3

# Parses lines of fastchess's output. Lines without news give nothing.

LINE_CHARACTERS = 4096
"""The part of a line that is parsed, because fastchess repeats what engines write."""
TERMINATIONS = (
    ("adjudication", Termination.ADJUDICATION),
    ("on time", Termination.TIME),
    ("disconnects", Termination.CRASH),
    ("stalls", Termination.STALL),
    ("illegal move", Termination.ILLEGAL),
)
_LOG_PREFIX = re.compile(r"\[(?P<level>\w+)\s*\] .*? --- ")
_STARTED = re.compile(r"Started game (\d+) of \d+ \((.+)\)$")
_FINISHED = re.compile(r"Finished game (\d+) \((.+)\): (1-0|0-1|1/2-1/2|\*) \{(.*)\}$")
_COMPLAINT = re.compile(r".*stopping tournament.*|Tournament was interrupted|Reason: .*")
_WARNING = re.compile(
    r"Warning[;:]|Engine .+ (?:did not respond|is not responsive|crashed)|Player: "
)
_LATER_COMPLAINT = re.compile(
    r"(?i:fatal|error)\b.*|(?i:terminate called).*|(?i:.*failed to start engine.*)"
    r"|(?:Invalid|Unrecognized|Unsupported) .*|(?:No openings|Engine not) found.*"
    r"|Engine binary does not exist.*|Failed to (?:set position|open file).*"
)


@dataclass(frozen=True, slots=True)
class FastchessStarted:
    """A game begins. fastchess counts games from 1."""

    game: int
    white: str
    black: str


@dataclass(frozen=True, slots=True)
class FastchessFinished:
    """A game has ended. Its result is `*` if it was interrupted."""

    game: int
    white: str
    black: str
    result: str
    termination: Termination
    reason: str

    @property
    def failed(self) -> str:
        """The engine that failed in a way that a sound engine on a sound machine does not; empty if
        none did."""
        if self.termination in (Termination.NORMAL, Termination.ADJUDICATION):
            return ""
        return {"1-0": self.black, "0-1": self.white}.get(self.result, "")


@dataclass(frozen=True, slots=True)
class FastchessComplaint:
    """fastchess gives up. The games so far may still count, and following lines may explain
    more."""

    text: str


FastchessNews = FastchessStarted | FastchessFinished | FastchessComplaint


def read_fastchess_line(line: str) -> FastchessNews | None:
    """Return the news in a line of output; None if there is none."""
    text = line[:LINE_CHARACTERS].rstrip()
    if prefix := _LOG_PREFIX.match(text):
        text = text[prefix.end() :]
    if (found := _STARTED.match(text)) and (players := _players(found[2])):
        return FastchessStarted(int(found[1]), *players)
    if (found := _FINISHED.match(text)) and (players := _players(found[2])):
        return FastchessFinished(
            int(found[1]), *players, found[3], termination_of(found[4]), found[4]
        )
    if found := _COMPLAINT.match(text):
        return FastchessComplaint(found[0])
    if not _WARNING.match(text) and (found := _LATER_COMPLAINT.match(text)):
        return FastchessComplaint(found[0])
    return None


def termination_of(reason: str) -> Termination:
    """How a game ended, from the words in braces."""
    low = reason.lower()
    return next((kind for words, kind in TERMINATIONS if words in low), Termination.NORMAL)


def _players(text: str) -> tuple[str, str] | None:
    """Return the two names in `A vs B`. A pattern with two texts of any length would take quadratic
    time."""
    first, _, second = text.rpartition(" vs ")
    return (first, second) if first and second else None


class FastchessMatch:
    """One run of fastchess. Entering starts it, leaving ends it and its engines."""

    def __init__(self, command: list[str], silence_seconds: float) -> None:
        self._command = command
        self._silence = silence_seconds
        self._threads = Threads()
        self._games: dict[int, dict[int, GameResult]] = {}
        self._complaints: list[str] = []
        self._last_line = ""

    async def __aenter__(self) -> Self:
        self._process = await self._threads.io(_start, self._command)
        self._lines = asyncio.StreamReader(limit=LONGEST_LINE)
        self._output, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(self._lines), self._process.stdout
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._threads.io(_end, self._process)
        self._output.close()

    async def __aiter__(self) -> AsyncIterator[Event]:
        while line := await self._line():
            for event in self._events(line):
                yield event
        code = await self._threads.io(self._process.wait)
        if self._complaints:
            raise _gave_up(" ".join(self._complaints[:MOST_COMPLAINTS]))
        if code:
            raise _gave_up(f"it {describe_exit(code)}, {self._last_line}")

    async def _line(self) -> str:
        """Return the next line of its output; empty at the end."""
        try:
            async with asyncio.timeout(self._silence):
                line = (await self._lines.readline()).decode("utf-8", "replace")
        except TimeoutError:
            why = f"it has said nothing for {self._silence / 60:.0f} minutes"
            raise _gave_up(why) from None
        self._last_line = line.strip() or self._last_line
        return line

    def _events(self, line: str) -> list[Event]:
        news = read_fastchess_line(line)
        if isinstance(news, FastchessComplaint):
            # fastchess ends by itself, and often gives the reason in a further line.
            self._complaints.append(news.text)
        if isinstance(news, FastchessStarted):
            pair, place = divmod(news.game - 1, 2)
            return [GameStarted(pair, place, news.white, news.black)]
        if isinstance(news, FastchessFinished) and news.result != "*":
            return self._ended(news)
        return []

    def _ended(self, news: FastchessFinished) -> list[Event]:
        """Return the events for a game, and for its pair if it was the second one to end."""
        number, place = divmod(news.game - 1, 2)
        result = _result(news)
        games = self._games.setdefault(number, {})
        games[place] = result
        ended: list[Event] = [GameEnded(number, place, result)]
        if len(games) == 2:
            first, second = games[0], games[1]
            del self._games[number]
            ended.append(PairEnded(PairResult(number, first.white, first.black, (first, second))))
        return ended


def _gave_up(why: str) -> MatchFault:
    return MatchFault(f"fastchess gave up: {why}")


def _result(news: FastchessFinished) -> GameResult:
    """Return a result without moves, which fastchess writes only to its own file."""
    return GameResult(
        news.white,
        news.black,
        fen="",
        book_moves=(),
        moves=(),
        result=news.result,
        termination=news.termination,
        reason=news.reason,
        failed=news.failed,
    )


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Interrupt fastchess, which ends its engines itself, and kill what is left after a while."""
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(b"i")
    try:
        process.wait(fastchess_guard.EXIT_SECONDS + GUARD_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    finally:
        process.stdin.close()


def _start(command: list[str]) -> "subprocess.Popen[bytes]":
    """Start fastchess behind a guard, so that no engine outlives this process, however it ends."""
    return subprocess.Popen(
        [sys.executable, "-I", "-S", fastchess_guard.__file__, *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        bufsize=0,
        start_new_session=True,
    )


# Finds fastchess and its version. Only this part examines the machine.

OLDEST = (1, 4, 0)
"""Older versions print other lines, so their reports are not trusted."""
QUESTIONS = ("-version", "--version")
"""The flags that print the version. The second one is for versions before 1.8."""
PATIENCE_SECONDS = 10

_VERSION = re.compile(r"fast-?chess\s+(?:[a-z]+\s+)?v?(\d+(?:\.\d+)+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FastchessProgram:
    """An installed fastchess: its path and version."""

    path: str
    version: tuple[int, ...]
    line: str
    """The version as it prints it, for the records."""

    @property
    def is_recent(self) -> bool:
        return self.version >= OLDEST


def find_fastchess(program: str = "fastchess") -> FastchessProgram | None:
    """Look for fastchess by name or path. None if it is not there or does not print its version."""
    path = shutil.which(program)
    if path is None:
        return None
    answers = (parse_version(path, _said(path, question)) for question in QUESTIONS)
    return next((found for found in answers if found is not None), None)


def _said(path: str, question: str) -> str:
    try:
        asked = subprocess.run(
            [path, question],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PATIENCE_SECONDS,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return asked.stdout + asked.stderr


def parse_version(path: str, said: str) -> FastchessProgram | None:
    """Parse the answer to -version; None for another program."""
    for line in said.splitlines():
        if found := _VERSION.search(line):
            return FastchessProgram(path, tuple(map(int, found[1].split("."))), line.strip())
    return None
