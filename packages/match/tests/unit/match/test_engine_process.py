"""An engine's output knows when it was written to."""

import asyncio
import os
import sys
import time

import pytest

from rookery.core.boundary.offload import Threads
from rookery.match.engine_process import launch_engine, stamped_pipe, start_process
from rookery.match.job import EngineGone


def test_the_pipe_is_stamped_when_it_is_written_to_and_not_when_it_is_read() -> None:
    ends = stamped_pipe()
    assert ends is not None
    reading, writing = ends
    os.utime(reading, (1.0, 1.0))
    before = time.time()
    os.write(writing, b"bestmove e2e4\n")
    stamp = os.fstat(reading).st_mtime
    assert before - 1.0 < stamp <= time.time()
    assert os.read(reading, 100) == b"bestmove e2e4\n"
    assert os.fstat(reading).st_mtime == stamp
    os.close(reading)
    os.close(writing)


def test_the_end_of_the_program_is_the_end_of_its_output() -> None:
    process = launch_engine((sys.executable, "-S", "-c", "print('uciok')"), None, {})
    assert process.stdout is not None
    process.wait()
    assert os.read(process.stdout.fileno(), 100) == b"uciok\n"
    assert os.read(process.stdout.fileno(), 100) == b""
    for pipe in (process.stdin, process.stdout, process.stderr):
        assert pipe is not None
        pipe.close()


def wait_for_the_end(pid: int) -> None:
    """Wait without a turn of the loop, so that nothing is read before the fault is noticed."""
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)


def test_the_last_words_of_an_engine_that_is_gone_are_read() -> None:
    async def told() -> tuple[str, ...]:
        process = await start_process(("sh", "-c", "echo no such library >&2"), Threads())
        try:
            wait_for_the_end(process.pid)
            with pytest.raises(EngineGone):
                process.write(b"uci")
            return process.tail
        finally:
            await process.kill()

    assert asyncio.run(told()) == ("> uci", "! no such library")
