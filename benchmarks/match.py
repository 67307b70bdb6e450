"""What the match runner costs, and how late it is with many games at once.

    PYTHONPATH=src:. python benchmarks/match.py [--quick] [--only NAME ...]

ply      CPU of the runner per ply and per info line, with 1 and with 41 info lines a move
versus   games a minute at fixed nodes against python-chess's SimpleEngine driving the same engines
latency  the runner's own latency and the time losses of honest engines at 1+0.01, 30 info lines a
         move, with 1, 8, 16 and 32 games at a time; these take 5 % of their clock a move, asleep
thinking the same with an engine that keeps a processor busy: shows where the machine ends
fastchess CPU of the runner a ply and wall time a ply beside a real fastchess, in turn; --fastchess
         says where it is. Engines don't count; start and end are taken out by the difference of a
         long and a short match. Both write their games, and referee the same ones.
"""

import argparse
import asyncio
import contextlib
import itertools
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import chess
import chess.engine

from rookery.core.books import demo_path
from rookery.match.clock import Latency
from rookery.match.fastchess import find_fastchess
from rookery.match.job import (
    Adjudication,
    EngineSpec,
    GameEnded,
    GameResult,
    LatencyMeasured,
    PairJob,
    Setup,
    Termination,
)
from rookery.match.openings import STANDARD
from rookery.match.sharded import ShardedMatch
from tests.engines.matches import MOVER, mover

MOVES = 20


def setup(moves: int) -> Setup:
    return Setup(Adjudication(most_moves=moves), margin_ms=20)


async def played(
    first: EngineSpec, second: EngineSpec, pairs: int, *, concurrency: int, moves: int = MOVES
) -> tuple[list[GameResult], Latency, float]:
    """All games, the runner's figures, and the seconds from the first game on."""
    jobs = (PairJob(number, STANDARD, first, second) for number in range(pairs))
    games, latency, began = [], Latency.fresh(), 0.0
    async with ShardedMatch(jobs, setup(moves), concurrency=concurrency) as match:
        async for event in match:
            began = began or time.perf_counter()
            if isinstance(event, GameEnded):
                games.append(event.result)
            elif isinstance(event, LatencyMeasured):
                latency = event.latency
    return games, latency, time.perf_counter() - began


async def per_ply(quick: bool) -> None:
    pairs = 20 if quick else 100
    costs = []
    for lines in (1, 41):
        options = (("Infos", str(lines)),)
        sides = mover("a", options=options), mover("b", options=options)
        _, latency, _ = await played(*sides, pairs, concurrency=1)
        costs.append(1e6 * latency.cpu_seconds / latency.plies)
        print(f"{lines:3} info lines a move: {costs[-1]:6.0f} µs of CPU per ply")
    print(f"per info line: {(costs[1] - costs[0]) / 40:.2f} µs")


def simple_engine_games(sides: Sequence[EngineSpec], games: int) -> tuple[float, float]:
    """The same games as a straightforward program plays them; gives its seconds and its CPU's."""
    engines = [
        chess.engine.SimpleEngine.popen_uci(
            list(side.command), env=dict(side.environment or os.environ)
        )
        for side in sides
    ]
    for engine, side in zip(engines, sides, strict=True):
        engine.configure(dict(side.options))
    began, cpu = time.perf_counter(), time.process_time()
    for number in range(games):
        board = chess.Board()
        for ply in range(2 * MOVES):
            result = engines[(ply + number) % 2].play(
                board, chess.engine.Limit(nodes=1), game=number, info=chess.engine.INFO_ALL
            )
            assert result.move is not None
            board.push(result.move)
            if board.outcome(claim_draw=True):
                break
    spent = time.perf_counter() - began, time.process_time() - cpu
    for engine in engines:
        engine.quit()
    return spent


async def versus(quick: bool) -> None:
    pairs = 10 if quick else 40
    options = (("Infos", "30"),)
    sides = mover("a", options=options), mover("b", options=options)
    games, latency, seconds = await played(*sides, pairs, concurrency=1)
    loop = asyncio.get_running_loop()
    theirs, cpu = await loop.run_in_executor(None, simple_engine_games, sides, 2 * pairs)
    print(f"one game at a time, {MOVES} moves, 30 info lines a move; games a minute, CPU per ply")
    for name, wall, used in (
        ("rookery", seconds, latency.cpu_seconds),
        ("SimpleEngine", theirs, cpu),
    ):
        print(f"{name:13} {60 * len(games) / wall:6.0f} {1e6 * used / latency.plies:6.0f} µs")


HEAD = "games  turnaround p50/p99 ms  lag p50/p99 ms  CPU µs/ply  time losses"


async def latencies(quick: bool) -> None:
    print(f"{len(os.sched_getaffinity(0))} processors for the engines and the runner\n{HEAD}")
    options = (("Infos", "30"), ("Share", "5"))
    one, other = (mover(name, tc="1+0.01", options=options) for name in "ab")
    for concurrency in (1, 8) if quick else (1, 8, 16, 32):
        await latency_row(one, other, concurrency, concurrency * (1 if quick else 2))


async def thinking(quick: bool) -> None:
    print(f"{len(os.sched_getaffinity(0))} processors for the engines and the runner\n{HEAD}")
    command = (sys.executable, "-m", "rookery.match.fledgling")
    one, other = (EngineSpec(name, command, (), "1+0.01") for name in "ab")
    for concurrency in (1, 2) if quick else (1, 2, 4, 8):
        await latency_row(one, other, concurrency, concurrency * (1 if quick else 2))


async def latency_row(one: EngineSpec, other: EngineSpec, concurrency: int, pairs: int) -> None:
    games, latency, _ = await played(one, other, pairs, concurrency=concurrency, moves=40)
    lost = sum(game.termination is Termination.TIME for game in games)
    turn, lag = latency.turnaround, latency.lag
    print(
        f"{concurrency:5}  {_ms(turn.quantile(0.5)):>9} / {_ms(turn.quantile(0.99)):<9}"
        f"  {_ms(lag.quantile(0.5)):>5} / {_ms(lag.quantile(0.99)):<6}"
        f"  {1e6 * latency.cpu_seconds / latency.plies:9.0f}  {lost} of {len(games)}"
    )


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.2f}"


@dataclass(frozen=True, slots=True)
class Cost:
    """What a match took."""

    cpu_seconds: float
    wall_seconds: float
    plies: int


def processor_seconds(pid: int | str) -> float:
    """Of a process alone, also one that has ended and was not waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def runners_of(pid: int) -> dict[str, float]:
    """The runner processes of a match and what they took so far."""
    found = {}
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in file.read_text().split():
                if b"rookery.match.shard" in Path(f"/proc/{child}/cmdline").read_bytes():
                    found[child] = processor_seconds(child)
    return found


def costs(command: list[str], folder: Path) -> Cost:
    """One match by one runner, its games in the folder."""
    games, runners, began = folder / "games.pgn", dict[str, float](), time.monotonic()
    games.unlink(missing_ok=True)
    match = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while os.waitid(os.P_PID, match.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        runners |= runners_of(match.pid)
        time.sleep(0.02)
    wall, cpu = time.monotonic() - began, processor_seconds(match.pid) + sum(runners.values())
    if match.wait():
        raise RuntimeError(f"{command[0]} ended with {match.returncode}")
    plies = sum(map(int, re.findall(r'PlyCount "(\d+)"', games.read_text())))
    return Cost(cpu, wall, plies)


def commands(
    program: str, games: int, concurrency: int, lines: int, folder: Path
) -> list[list[str]]:
    """The same match for fastchess and for us."""
    engine = folder / "engine"
    modules = Path(chess.__file__).parents[1]
    start = shlex.join(("env", f"PYTHONPATH={modules}", sys.executable, "-S", str(MOVER)))
    engine.write_text(f'#!/bin/sh\nexec {start} "$@"\n')
    engine.chmod(0o755)
    pgn = folder / "games.pgn"
    theirs = [program, "-repeat", "-recover", "-games", "2", "-rounds", str(games // 2)]
    theirs += ["-concurrency", str(concurrency), "-force-concurrency", "-maxmoves", "60"]
    theirs += ["-openings", f"file={demo_path()}", "format=epd", "order=random", "-srand", "1"]
    theirs += ["-config", f"outname={os.devnull}", "-pgnout", f"file={pgn}", "nodes=true"]
    ours = [sys.executable, "-m", "rookery.cli.main", "match", "--games", str(games), "--json"]
    ours += ["--concurrency", str(concurrency), "--no-adjudication", "--max-moves", "60"]
    ours += ["--tc", "N=1", "--pgn", str(pgn)]
    for seed, name in enumerate("ab"):
        theirs += ["-engine", f"name={name}", f"cmd={engine}", f"args=--seed {seed}", "nodes=1"]
        theirs += [f"option.Infos={lines}"]
        ours += ["--engine", f"cmd={engine} --seed {seed}", f"name={name}", f"option.Infos={lines}"]
    return [theirs, ours]


def compared(program: str, concurrency: int, lines: int, longest: int) -> list[tuple[float, float]]:
    """Microseconds a ply of CPU and of wall time, of fastchess and of ours."""
    found = []
    with tempfile.TemporaryDirectory() as name:
        asked = [commands(program, games, concurrency, lines, Path(name)) for games in (4, longest)]
        for short, long in zip(*asked, strict=True):
            little, much = costs(short, Path(name)), costs(long, Path(name))
            plies = (much.plies - little.plies) / 1e6
            cpu = (much.cpu_seconds - little.cpu_seconds) / plies
            found.append((cpu, (much.wall_seconds - little.wall_seconds) / plies))
    return found


async def against_fastchess(quick: bool) -> None:
    program = find_fastchess(FASTCHESS[0])
    if program is None:
        print("there is no fastchess here: --fastchess FILE")
        return
    print(f"{program.line}; load {os.getloadavg()[0]:.1f}; µs a ply, median of the rounds")
    print("games at a time, info lines   CPU theirs  ours  ratio   wall theirs  ours  ratio")
    for concurrency, lines in itertools.product((1, 2), (1, 20)):
        rounds = [
            compared(program.path, concurrency, lines, 20 if quick else 40)
            for _ in range(1 if quick else 3)
        ]
        (cpu, wall), (our_cpu, our_wall) = (
            (median(one[0] for one in side), median(one[1] for one in side))
            for side in zip(*rounds, strict=True)
        )
        ratios = [median(r[1][at] / r[0][at] for r in rounds) for at in (0, 1)]
        print(
            f"{concurrency:15}, {lines:10}   {cpu:10.0f}  {our_cpu:4.0f}  {ratios[0]:5.2f}"
            f"   {wall:11.0f}  {our_wall:4.0f}  {ratios[1]:5.2f}",
            flush=True,
        )


FASTCHESS = ["fastchess"]
PARTS = {
    "ply": per_ply,
    "versus": versus,
    "latency": latencies,
    "thinking": thinking,
    "fastchess": against_fastchess,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--fastchess", default=FASTCHESS[0], metavar="FILE")
    asked = parser.parse_args()
    FASTCHESS[0] = asked.fastchess
    for name in asked.only:
        print(f"## {name}")
        asyncio.run(PARTS[name](asked.quick))
        print()


if __name__ == "__main__":
    main()
