"""A match played by fastchess, told as the built-in runner tells its own."""

import asyncio
import contextlib
import re
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from rookery.boundary.offload import Threads
from rookery.errors import describe_exit
from rookery.match import fastchess_guard
from rookery.match.fastchess_command import Draw as FastchessDraw
from rookery.match.fastchess_command import Invocation, Openings, Side, Tablebases, command_line
from rookery.match.fastchess_command import Pgn as FastchessPgn
from rookery.match.fastchess_command import Resign as FastchessResign
from rookery.match.fastchess_output import Ending, Failed, GameFinished, Outcome, read
from rookery.match.fastchess_output import GameStarted as FastchessStarted
from rookery.match.job import (
    EngineSpec,
    Event,
    GameEnded,
    GameResult,
    GameStarted,
    MatchFault,
    PairEnded,
    PairResult,
    Setup,
    Termination,
)

LONGEST_LINE = 2**20
ENDLESS_PAIRS = 500_000
GUARD_SECONDS = 5.0
"""What the guard may take to end the rest, once its own patience is over."""
MOST_COMPLAINTS = 3
TERMINATIONS = {
    Ending.ADJUDICATION: Termination.ADJUDICATION,
    Ending.TIME: Termination.TIME,
    Ending.CRASH: Termination.CRASH,
    Ending.STALL: Termination.STALL,
    Ending.ILLEGAL_MOVE: Termination.ILLEGAL,
}


class FastchessFailed(MatchFault):
    """fastchess gave up."""

    def __init__(self, why: str) -> None:
        super().__init__(f"fastchess gave up: {why}")


@dataclass(frozen=True, slots=True)
class FastchessFiles:
    """What fastchess reads openings from and writes games to."""

    book: Path | None = None
    plies: int | None = None
    seed: int | None = None
    start: int = 1
    pgn: Path | None = None


def invocation(
    engines: Sequence[EngineSpec],
    setup: Setup,
    files: FastchessFiles,
    *,
    pairs: int | None,
    concurrency: int,
    round_robin: bool = False,
) -> Invocation:
    """The same match in fastchess's terms; raises Unspeakable where it has none."""
    rules = setup.adjudication
    resign, draw = rules.resign, rules.draw
    openings = (
        Openings(files.book.resolve(), files.seed, files.start, files.plies) if files.book else None
    )
    return Invocation(
        tuple(_side(engine, setup.margin_ms) for engine in engines),
        ENDLESS_PAIRS if pairs is None else pairs,
        concurrency,
        openings,
        FastchessResign(resign.moves, resign.score, resign.two_sided) if resign else None,
        FastchessDraw(draw.from_move, draw.moves, draw.score) if draw else None,
        Tablebases(tuple(map(Path, setup.syzygy)), rules.syzygy_men) if setup.syzygy else None,
        rules.most_moves or None,
        setup.chess960,
        round_robin,
        FastchessPgn(files.pgn.resolve()) if files.pgn else None,
    )


def _side(engine: EngineSpec, margin_ms: int) -> Side:
    program = Path(shutil.which(engine.command[0]) or engine.command[0]).absolute()
    options = engine.options
    if engine.threads > 1 and not any(name.lower() == "threads" for name, _ in options):
        options = (("Threads", str(engine.threads)), *options)
    return Side(
        engine.name, program, engine.tc, engine.command[1:], options, engine.folder, margin_ms
    )


class FastchessMatch:
    """One call of fastchess; entered to start it, left to end it and its engines."""

    def __init__(self, program: str, match: Invocation) -> None:
        self._command = command_line(program, match)
        self._silence = match.silence_seconds
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
            raise FastchessFailed(" ".join(self._complaints[:MOST_COMPLAINTS]))
        if code:
            raise FastchessFailed(f"it {describe_exit(code)}, {self._last_line}")

    async def _line(self) -> str:
        """What it says next; nothing at its end."""
        try:
            async with asyncio.timeout(self._silence):
                line = (await self._lines.readline()).decode("utf-8", "replace")
        except TimeoutError:
            why = f"it has said nothing for {self._silence / 60:.0f} minutes"
            raise FastchessFailed(why) from None
        self._last_line = line.strip() or self._last_line
        return line

    def _events(self, line: str) -> list[Event]:
        said = read(line)
        if isinstance(said, Failed):
            # It goes on to end by itself, and often gives the reason in a further line.
            self._complaints.append(said.text)
        if isinstance(said, FastchessStarted):
            pair, place = divmod(said.game - 1, 2)
            return [GameStarted(pair, place, said.white, said.black)]
        if isinstance(said, GameFinished) and said.outcome is not Outcome.NONE:
            return self._ended(said)
        return []

    def _ended(self, said: GameFinished) -> list[Event]:
        """A game, and its pair when it was the second of the two to end."""
        number, place = divmod(said.game - 1, 2)
        result = _result(said)
        games = self._games.setdefault(number, {})
        games[place] = result
        ended: list[Event] = [GameEnded(number, place, result)]
        if len(games) == 2:
            first, second = games[0], games[1]
            del self._games[number]
            ended.append(PairEnded(PairResult(number, first.white, first.black, (first, second))))
        return ended


def _result(said: GameFinished) -> GameResult:
    """fastchess writes the moves to its own file; here they are not known."""
    return GameResult(
        said.white,
        said.black,
        fen="",
        book_moves=(),
        moves=(),
        result=said.outcome.value,
        termination=TERMINATIONS.get(said.ending, Termination.NORMAL),
        reason=said.reason,
        failed=(said.loser or "") if said.ending.is_fault else "",
    )


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Interrupted it ends its engines itself; what is left of them after a while is killed."""
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(b"i")
    try:
        process.wait(fastchess_guard.FAREWELL_SECONDS + GUARD_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    finally:
        process.stdin.close()


def _start(command: list[str]) -> "subprocess.Popen[bytes]":
    """Behind a guard, so that no engine outlives this process, however it ends."""
    return subprocess.Popen(
        [sys.executable, "-I", "-S", fastchess_guard.__file__, *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        bufsize=0,
        start_new_session=True,
    )


# Where fastchess is and which version: the only part here that touches the machine.

OLDEST = (1, 4, 0)
"""Older ones print other lines; what they would report is not trusted."""
QUESTIONS = ("-version", "--version")
"""The second is how it was asked before 1.8."""
PATIENCE_SECONDS = 10

_VERSION = re.compile(r"fast-?chess\s+(?:[a-z]+\s+)?v?(\d+(?:\.\d+)+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FastchessProgram:
    """A program that calls itself fastchess."""

    path: str
    version: tuple[int, ...]
    line: str
    """The version in its own words, for the records."""

    @property
    def is_recent(self) -> bool:
        return self.version >= OLDEST


def find_fastchess(program: str = "fastchess") -> FastchessProgram | None:
    """Look for fastchess by name or path; None when it is not there or does not say who it is."""
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
    """Read what it said to -version."""
    for line in said.splitlines():
        if found := _VERSION.search(line):
            return FastchessProgram(path, tuple(map(int, found[1].split("."))), line.strip())
    return None
