"""Counts an engine's nodes and takes its speed, with as many at once as games will be played.

A single bench on an idle machine has a core's full boost and all of its cache: that speed is never
seen again once every slot plays.
"""

import asyncio
import re
import shlex
from dataclasses import replace
from functools import partial
from statistics import fmean
from time import perf_counter

from rookery.protocol.engine_record import EngineRecord
from rookery.worker.engines.order import BenchFailed, Built, Measured
from rookery.worker.engines.output import Output
from rookery.worker.engines.patterns import BadPattern, last_match
from rookery.worker.engines.programs import Program, TooLong, ending, run
from rookery.worker.engines.sandbox.sandbox import NO_SANDBOX, Sandbox

PATIENCE_SECONDS = 600.0
NOISY_SPREAD = 0.15
"""Slots that lie further apart in speed belong to a machine with other things to do."""
_SPEED = re.compile(
    r"Nodes/second\s*:\s*([\d.,]{1,30})|\b(\d[\d.,]{0,30})\s{0,5}nps\b", re.IGNORECASE
)


async def bench(
    built: Built,
    record: EngineRecord,
    *,
    slots: int,
    signature: int | None = None,
    seconds: float = PATIENCE_SECONDS,
    sandbox: Sandbox = NO_SANDBOX,
) -> Measured:
    """Bench on all slots at once, after a warm-up; raises BenchFailed, WrongBench."""
    benching = replace(built, command=(*built.command, *_words(record)))
    once = partial(_one, Program(sandbox.playing(benching), seconds=seconds), record)
    first = await once()
    _check(first.nodes, record, signature)
    # Also one slot is measured anew: the warm-up read the program from the disk.
    found = await asyncio.gather(*(once() for _ in range(max(slots, 1))))
    if len({first.nodes, *(each.nodes for each in found)}) > 1 and record.bench.must_match:
        raise BenchFailed(f"The bench of {record.name} counts other nodes each time.")
    speeds = [each.nps for each in found]
    mean = fmean(speeds)
    return Measured(first.nodes, mean, (max(speeds) - min(speeds)) / mean if mean else 0.0)


def _words(record: EngineRecord) -> list[str]:
    try:
        return shlex.split(record.bench.command)
    except ValueError:
        sentence = f"The bench command of {record.name} has a quote without an end."
        raise BenchFailed(sentence) from None


def _check(nodes: int, record: EngineRecord, signature: int | None) -> None:
    if signature is not None and record.bench.must_match and nodes != signature:
        raise WrongBench(record.name, signature, nodes)


class WrongBench(BenchFailed):
    """The engine counts other nodes than its commit says."""

    def __init__(self, name: str, expected: int, found: int) -> None:
        super().__init__(f"The bench of {name} is {found}, and should be {expected}.")
        self.expected = expected
        self.found = found


async def _one(program: Program, record: EngineRecord) -> Measured:
    began = perf_counter()
    text = await _said(program, record)
    return await read_bench(text, record, perf_counter() - began)


async def read_bench(text: str, record: EngineRecord, seconds: float) -> Measured:
    """What a bench's text tells; its speed by the clock where it names none."""
    try:
        found = await last_match(record.bench.pattern, text)
    except BadPattern:
        sentence = f"The bench pattern of {record.name} can't be searched for."
        raise BenchFailed(sentence, text) from None
    if not found or not found[0]:
        raise BenchFailed(f"The bench of {record.name} names no nodes.", text)
    nodes = _number(found[0])
    if len(found) > 1 and found[1]:
        return Measured(nodes, float(_number(found[1])))
    speeds = list(_SPEED.finditer(text))
    speed = _number(speeds[-1][1] or speeds[-1][2]) if speeds else 0
    return Measured(nodes, float(speed) or nodes / max(seconds, 1e-6))


def _number(text: str) -> int:
    """Thousands may be parted by commas or dots."""
    return int("".join(filter(str.isdigit, text)) or "0")


async def _said(program: Program, record: EngineRecord) -> str:
    output = Output()
    try:
        code = await run(program, output)
    except OSError as error:
        raise BenchFailed(f"The bench of {record.name} could not be run: {error}.") from None
    except TooLong:
        sentence = f"The bench of {record.name} did not end within {program.seconds:.0f} s."
        raise BenchFailed(sentence, output.text) from None
    if code:
        raise BenchFailed(f"The bench of {record.name} ended with {ending(code)}.", output.text)
    return output.text
