"""Counts an engine's nodes and takes its speed, with as many at once as games will be played."""

import asyncio
import re
import shlex
import signal
import subprocess
from statistics import fmean
from time import perf_counter

from rookery.boundary.offload import Threads
from rookery.protocol.engine_record import EngineRecord
from rookery.worker.engines.order import BenchFailed, Built, Measured

PATIENCE_SECONDS = 600.0
LONGEST_LOG = 2**20


async def bench(built: Built, record: EngineRecord, *, slots: int) -> Measured:
    """Bench on all slots at once, after a warm-up; raises BenchFailed."""
    threads = Threads(tokens=max(slots, 1))
    command = (*built.command, *shlex.split(record.bench.command))
    first = await threads.io(_one, command, record)
    if slots <= 1:
        return first
    all_at_once = (threads.io(_one, command, record) for _ in range(slots))
    found = await asyncio.gather(*all_at_once)
    if len({first.nodes, *(each.nodes for each in found)}) > 1:
        raise BenchFailed(f"The bench of {record.name} counts other nodes each time.")
    speeds = [each.nps for each in found]
    mean = fmean(speeds)
    return Measured(first.nodes, mean, (max(speeds) - min(speeds)) / mean if mean else 0.0)


def _one(command: tuple[str, ...], record: EngineRecord) -> Measured:
    began = perf_counter()
    text = _said(command, record)
    seconds = perf_counter() - began
    named = list(re.finditer(record.bench.pattern, text))
    if not named:
        raise BenchFailed(f"The bench of {record.name} names no nodes.", text)
    found = named[-1]
    nodes = int(found[1].replace(",", ""))
    speed = float(found[2].replace(",", "")) if found.re.groups > 1 else nodes / seconds
    return Measured(nodes, speed)


def _said(command: tuple[str, ...], record: EngineRecord) -> str:
    try:
        ended = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BenchFailed(f"The bench of {record.name} could not be run: {error}.") from None
    text = ended.stdout[-LONGEST_LOG:].decode("utf-8", "replace")
    if ended.returncode:
        how = _ending(ended.returncode)
        raise BenchFailed(f"The bench of {record.name} failed with exit code {how}.", text)
    return text


def _ending(code: int) -> str:
    return signal.Signals(-code).name if -code in set(signal.Signals) else str(code)
