"""A runner that reads an answer late does not let the engine pay for it."""

import asyncio
import select
import sys
from dataclasses import replace

import pytest

from rookery.core.boundary.offload import Threads
from rookery.match.engine_process import EngineProcess
from rookery.match.job import EngineSpec, EngineTimeouts
from rookery.match.uci import EngineMove, UciEngine

# Each answer is one writing, so that what lies in the pipe is all of it.
ENGINE = """
import os, sys
for line in sys.stdin:
    word = line.split()[0]
    if word in ("uci", "isready"):
        os.write(1, b"uciok\\n" if word == "uci" else b"readyok\\n")
    if word == "go":
        os.write(1, b"info depth 1 score cp 0\\nbestmove e2e4\\n")
    if word == "quit":
        break
"""
SPEC = EngineSpec("quick", (sys.executable, "-S", "-c", ENGINE), (), "10+0.1")
LATE_SECONDS = 0.1


async def answered(process_is_late: bool) -> EngineMove:
    engine = UciEngine(SPEC, replace(EngineTimeouts(), quit=0.3), Threads())
    try:
        await engine.prepare(SPEC, chess960=False)
        await engine.new_game()
        engine.start_search(b"position startpos", b"go wtime 100 btime 100")
        if process_is_late:
            await neglected(engine._running())
        return await engine.read_move(60.0)
    finally:
        await engine.quit()


async def neglected(process: EngineProcess) -> None:
    """Leave the answer in its pipe for a while, as a runner without a processor does."""
    assert process._process.stdout is not None
    output = process._process.stdout.fileno()
    process._loop.remove_reader(output)
    await Threads().io(select.select, [output], [], [], 60.0)
    await asyncio.sleep(LATE_SECONDS)
    process._loop.add_reader(output, process._read_output)


def test_what_an_answer_lay_in_its_pipe_is_not_charged() -> None:
    time = asyncio.run(answered(process_is_late=True)).spent
    assert time.late > LATE_SECONDS / 2
    assert time.read - time.least > time.late


@pytest.mark.parametrize("late", [True, False])
def test_no_answer_is_charged_beyond_its_reading(late: bool) -> None:
    time = asyncio.run(answered(process_is_late=late)).spent
    assert 0.0 <= time.least <= time.charged <= time.read
