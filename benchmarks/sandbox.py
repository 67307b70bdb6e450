"""What the sandbox costs a playing engine: the way of a move, the processor's time, the speed.

    python benchmarks/sandbox.py [ROUNDS]

An engine that answers at once is asked for moves with and without the sandbox, in turns, so that a
noisy machine is as noisy to both.
"""

import asyncio
import subprocess
import sys
import tempfile
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median, quantiles
from time import perf_counter, process_time

from rookery.core.boundary.offload import Threads
from rookery.core.model.engine import BenchRecord, EngineRecord, RecipeRecord
from rookery.match.engine_process import EngineProcess, start_process
from rookery.worker.engines.bench import bench
from rookery.worker.engines.orders import EngineOrder
from rookery.worker.engines.workshop import find_installed
from rookery.worker.sandbox.sandbox import BuiltEngine, Sandbox, detect_sandbox

PLIES = 2_000
TINY = Path(__file__).parent.parent / "tests" / "engines" / "tiny.c"
OURS = EngineRecord(
    name="Fledgling", recipe=RecipeRecord(kind="installed", output="rookery-fledgling")
)

STOCKFISH = EngineRecord(
    name="Stockfish",
    recipe=RecipeRecord(kind="installed", output="/usr/games/stockfish"),
    bench=BenchRecord(command="bench 16 1 8", pattern=r"Nodes searched\s*:\s*(\d+)"),
)
"""Debian's own."""


async def plies(process: EngineProcess) -> list[float]:
    """Seconds of each move, from the writing to the reading."""
    taken = []
    for _ in range(PLIES):
        process.write(b"position startpos moves e2e4 e7e5 g1f3", b"go movetime 1")
        began = perf_counter()
        taken.append((await process.expect(b"bestmove", 30.0)).read_at - began)
    return taken


async def played(command: tuple[str, ...]) -> tuple[list[float], float, float]:
    """Moves, the runner's own processor time for each, and the seconds to the first word."""
    began = perf_counter()
    process = await start_process(command, Threads(), environment={})
    process.write(b"uci")
    await process.expect(b"uciok", 30.0)
    start = perf_counter() - began
    spent = process_time()
    taken = await plies(process)
    spent = process_time() - spent
    await process.quit(1.0)
    return taken, spent / PLIES, start


async def main(program: Path, rounds: int) -> None:
    sandbox = await detect_sandbox(Threads())
    print(sandbox)
    tiny = BuiltEngine((str(program),), "", readable=(program,))
    ways = {"plain": tiny.command, "sandbox": sandbox.playing(tiny, memory_mib=1024)}
    found: dict[str, list[tuple[list[float], float, float]]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, command in ways.items():
            found[name].append(await played(command))
    for name, runs in found.items():
        moves = [each for run in runs for each in run[0]]
        spent, start = median(run[1] for run in runs), median(run[2] for run in runs)
        print(
            f"{name:8} move {1e6 * median(moves):6.1f} µs, 99 % within"
            f" {1e6 * quantiles(moves, n=100)[98]:6.0f} µs; runner {1e6 * spent:5.1f} µs a ply;"
            f" start {1e3 * start:4.0f} ms"
        )
    await speeds(sandbox, rounds)


async def speeds(sandbox: Sandbox, rounds: int) -> None:
    """The same nodes with and without, in the processor's seconds, which neighbours change less."""
    ways = (("plain", Sandbox(False)), ("sandbox", sandbox))
    for record in (OURS, STOCKFISH):
        built = find_installed(EngineOrder(record, "", ""))
        spent: dict[str, list[float]] = {name: [] for name, _ in ways}
        for name, way in ways * rounds:
            before = getrusage(RUSAGE_CHILDREN).ru_utime
            nodes = (await bench(built, record, slots=1, sandbox=way)).nodes
            spent[name].append(getrusage(RUSAGE_CHILDREN).ru_utime - before)
        told = ", ".join(f"{name} {median(each):.3f} s" for name, each in spent.items())
        print(f"{record.name}, twice {nodes:,} nodes: {told}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        built = Path(folder) / "tiny"
        subprocess.run(("cc", "-O2", "-o", str(built), str(TINY)), check=True)
        asyncio.run(main(built, int(sys.argv[1]) if len(sys.argv) > 1 else 10))
