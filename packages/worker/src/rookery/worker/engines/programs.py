"""Runs programs to their end: with limits on output and time, and without leaving processes
behind."""

import asyncio
import contextlib
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

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
    """Yield a pipe for output, and a future that completes when nobody can write to it any more.

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
    """Return the processes of a session, and all processes with the mark in their environment.

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
