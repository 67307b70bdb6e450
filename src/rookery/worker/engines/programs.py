"""Runs a program to its end: its output kept within bounds, its time limited, nothing left over."""

import asyncio
import contextlib
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rookery.worker.engines.output import Output

CHUNK_BYTES = 65_536
LAST_WORDS_SECONDS = 0.2
"""A child of the program may hold its pipe for ever; what lies in it is read, no more."""


@dataclass(frozen=True, slots=True)
class Program:
    """A command, where it runs and what it sees of the environment."""

    command: tuple[str, ...]
    folder: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 60.0


class TooLong(Exception):
    """it did not end in time"""


async def run(
    program: Program, output: Output, started: Callable[[int], None] | None = None
) -> int:
    """Its exit code, negative for a signal; raises OSError when it can't be started, TooLong.

    It leads a session of its own, whose number `started` is told.
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
    """A pipe to write to, and when nobody will any more.

    The loop's own pipes would not let a program end before everyone who holds them has.
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
    # The group even when its leader has ended: what it left behind goes too.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if sys.platform != "win32":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    await process.wait()
