"""Runs a program to its end: its output kept within bounds, its time limited, nothing left over."""

import asyncio
import contextlib
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rookery.worker.engines.output import Output

CHUNK_BYTES = 65_536
LAST_WORDS_SECONDS = 0.2


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
    process = await asyncio.create_subprocess_exec(
        *program.command,
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=STDOUT,
        cwd=program.folder,
        env=dict(program.environment),
        start_new_session=True,
    )
    if started:
        started(process.pid)
    try:
        async with asyncio.timeout(program.seconds):
            await _drain(process, output)
            return await process.wait()
    except TimeoutError:
        raise TooLong from None
    finally:
        await _end(process)


async def _drain(process: Process, output: Output) -> None:
    assert process.stdout is not None
    ended = asyncio.create_task(process.wait())
    try:
        while True:
            reading = asyncio.create_task(process.stdout.read(CHUNK_BYTES))
            await asyncio.wait((reading, ended), return_when=asyncio.FIRST_COMPLETED)
            if not reading.done():
                await _give_up(reading)
            if reading.cancelled() or not (data := reading.result()):
                return
            output.add(data)
    finally:
        ended.cancel()


async def _give_up(reading: "asyncio.Task[bytes]") -> None:
    """A child of it may hold the pipe for ever; what lies in it is read, no more."""
    await asyncio.wait((reading,), timeout=LAST_WORDS_SECONDS)
    if not reading.done():
        reading.cancel()
        await asyncio.wait((reading,))


async def _end(process: Process) -> None:
    # The group even when its leader has ended: what it left behind goes too.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if sys.platform != "win32":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    await process.wait()


def ending(code: int) -> str:
    """How a program ended, for people."""
    if code >= 0:
        return f"exit code {code}"
    known = {int(each): each.name for each in signal.Signals}
    return f"signal {known.get(-code, str(-code))}"
