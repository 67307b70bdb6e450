"""Runs programs to their end: with limits on output and time, and without leaving processes
behind."""

import asyncio
import contextlib
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from rookery.boundary.offload import Threads
from rookery.match.engine_process import EngineProcess, start_process
from rookery.match.job import EngineFault

# Limits a program's output: keeps its head, where the first error is, and its tail.

HEAD_BYTES = 2**19
TAIL_BYTES = 2**19


class Output:
    """The log of a program, of which at most a megabyte is kept. There is one writer."""

    def __init__(self, head_bytes: int = HEAD_BYTES, tail_bytes: int = TAIL_BYTES) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self._head_bytes, self._tail_bytes = head_bytes, tail_bytes
        self._left_out = 0

    def add(self, data: bytes) -> None:
        room = self._head_bytes - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        # Cut rarely, so that a flood is not copied for each of its pieces.
        if len(self._tail) > 2 * self._tail_bytes:
            self._cut()

    def line(self, text: str) -> None:
        """Add a line of the worker to the program's output."""
        self.add(f"{text}\n".encode())

    @property
    def text(self) -> str:
        self._cut()
        gap = f"\n[... {self._left_out:,} bytes left out ...]\n" if self._left_out else ""
        head, tail = (bytes(part).decode("utf-8", "replace") for part in (self._head, self._tail))
        return head + gap + tail

    def _cut(self) -> None:
        extra = len(self._tail) - self._tail_bytes
        if extra > 0:
            del self._tail[:extra]
            self._left_out += extra


def tells_of_full_disk(log: str) -> bool:
    """Whether a log shows that the disk was full."""
    return "No space left on device" in log or "Disk quota exceeded" in log


CHUNK_BYTES = 65_536
LAST_WORDS_SECONDS = 0.2
"""How long to read output after the program has ended. Its children may keep the pipe open for
ever."""


@dataclass(frozen=True, slots=True)
class Program:
    """A command, its folder and its environment."""

    command: tuple[str, ...]
    folder: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 60.0


class TooLong(Exception):
    """A program did not end in time."""


async def run_program(
    program: Program, output: Output, started: Callable[[int], None] | None = None
) -> int:
    """Run a program and return its exit code, negative for a signal. Raises OSError if it can't be
    started, or TooLong.

    The program leads a session of its own, whose number is passed to `started`.
    """
    with _listening(output) as (pipe, silence):
        try:
            process = await _start(program, pipe)
        finally:
            os.close(pipe)
        if started:
            started(process.pid)
        try:
            async with asyncio.timeout(program.seconds):
                code = await process.wait()
                await asyncio.wait((silence,), timeout=LAST_WORDS_SECONDS)
                return code
        except TimeoutError:
            raise TooLong from None
        finally:
            await _end(process)


@contextlib.contextmanager
def _listening(output: Output) -> Iterator[tuple[int, asyncio.Future[None]]]:
    """A pipe for output, and a future that completes when nobody can write to it any more.

    With the loop's own pipes, a program would end only after all processes that hold them.
    """
    loop = asyncio.get_running_loop()
    silence: asyncio.Future[None] = loop.create_future()
    hears, tells = os.pipe()
    os.set_blocking(hears, False)

    def hear() -> None:
        with contextlib.suppress(BlockingIOError):
            data = os.read(hears, CHUNK_BYTES)
            output.add(data)
            if not data:
                loop.remove_reader(hears)
                silence.set_result(None)

    loop.add_reader(hears, hear)
    try:
        yield tells, silence
    finally:
        loop.remove_reader(hears)
        os.close(hears)


async def _start(program: Program, pipe: int) -> Process:
    return await asyncio.create_subprocess_exec(
        *program.command,
        stdin=DEVNULL,
        stdout=pipe,
        stderr=pipe,
        cwd=program.folder,
        env=dict(program.environment),
        start_new_session=True,
    )


async def _end(process: Process) -> None:
    # Signal the group even if its leader has ended, to end what it left behind.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if sys.platform != "win32":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    await process.wait()


# Finds and ends processes that a program left behind, where no namespace does it.

ROUNDS = 200
"""How many times processes are searched and killed. A fork bomb makes new ones meanwhile, but loses
in the end."""


def session_members(session: int, mark: str, processes: Path = Path("/proc")) -> list[int]:
    """The processes of a session, and all processes with the mark in their environment.

    Empty if the system does not list processes.
    """
    found = []
    for folder in processes.glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            # The name in parentheses may contain anything, even spaces.
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            ours = int(fields[3]) == session or mark.encode() in (folder / "environ").read_bytes()
            if ours and fields[0] != "Z":
                found.append(int(folder.name))
    return found


def end_session(session: int, mark: str) -> None:
    """End all processes of a session. They are stopped first, so that they can't start others."""
    for _ in range(ROUNDS):
        left = session_members(session, mark)
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in left:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)
        if not left:
            return


# Starts an engine and reads its introduction: whether it speaks UCI, and its options.

SECONDS = 60.0
QUIT_SECONDS = 2.0
MOST_OPTIONS = 1000
LONGEST_NUMBER = 18
_KEYS = frozenset({"default", "min", "max", "var"})


@dataclass(frozen=True, slots=True)
class UciOption:
    """An option in an engine's list."""

    name: str
    type: str
    default: str = ""
    least: int | None = None
    most: int | None = None


@dataclass(frozen=True, slots=True)
class UciIntroduction:
    """What an engine reports about itself."""

    name: str
    options: tuple[UciOption, ...]
    move: str = ""
    """The engine's first move in the initial position, if it was asked for one."""


class NoIntroduction(Exception):
    """The program can't be started or does not speak UCI."""

    def __init__(self, why: str, said: str = "") -> None:
        super().__init__(why)
        self.said = said


async def introduce(
    command: Sequence[str],
    threads: Threads,
    *,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    seconds: float = SECONDS,
    with_move: bool = False,
) -> UciIntroduction:
    """Start an engine and read its introduction. Raises NoIntroduction."""
    try:
        process = await start_process(command, threads, folder=folder, environment=environment)
    except OSError as error:
        raise NoIntroduction(f"it can't be started: {error.strerror}") from None
    try:
        found = await _asked(process, seconds)
        return replace(found, move=await _moved(process, seconds)) if with_move else found
    except EngineFault as fault:
        why = f"{type(fault).__doc__}"
        raise NoIntroduction(why, "\n".join(process.tail)) from None
    finally:
        await process.quit(QUIT_SECONDS)


async def _asked(process: EngineProcess, seconds: float) -> UciIntroduction:
    lines: list[str] = []

    def note(line: bytes) -> None:
        if len(lines) < MOST_OPTIONS:
            lines.append(line.decode("utf-8", "replace").strip())

    process.write(b"uci")
    await process.expect(b"uciok", seconds, note)
    return read_introduction(lines)


async def _moved(process: EngineProcess, seconds: float) -> str:
    process.write(b"ucinewgame", b"isready")
    await process.expect(b"readyok", seconds)
    process.write(b"position startpos", b"go movetime 100")
    words = (await process.expect(b"bestmove", seconds)).text.split()
    return words[1].decode("ascii", "replace") if len(words) > 1 else ""


def read_introduction(lines: Sequence[str]) -> UciIntroduction:
    """Parse the lines between `uci` and `uciok`."""
    names = [line.removeprefix("id name ") for line in lines if line.startswith("id name ")]
    found = (_option(line.split()) for line in lines)
    return UciIntroduction(names[0] if names else "", tuple(filter(None, found)))


def _option(words: Sequence[str]) -> UciOption | None:
    """Parse an option word by word. A pattern with three texts of any length would take quadratic
    time."""
    if list(words[:2]) != ["option", "name"] or "type" not in words[3:-1]:
        return None
    place = words.index("type", 3)
    name, kind, rest = " ".join(words[2:place]), words[place + 1], words[place + 2 :]
    if kind == "string":
        # Every word after `default` belongs to the text, also `min` and `var`.
        return UciOption(name, kind, " ".join(rest[1:]) if rest[:1] == ["default"] else "")
    said: dict[str, list[str]] = {}
    for word in rest:
        if word in _KEYS:
            key = said.setdefault(word, [])
        elif said:
            key.append(word)
    least, most = (_whole(said.get(key, [])) for key in ("min", "max"))
    return UciOption(name, kind, " ".join(said.get("default", [])), least, most)


def _whole(words: Sequence[str]) -> int | None:
    digits = words[0].removeprefix("-") if len(words) == 1 else ""
    good = digits.isascii() and digits.isdecimal() and len(digits) <= LONGEST_NUMBER
    return int(words[0]) if good else None
