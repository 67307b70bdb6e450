"""What the match runner costs, and how late it is with many games at once.

    PYTHONPATH=src:. python benchmarks/match.py [--quick] [--only ply versus latency thinking]

ply      CPU of the runner per ply and per info line, with 1 and with 41 info lines a move
versus   games a minute at fixed nodes against python-chess's SimpleEngine driving the same engines
latency  the runner's own latency and the time losses of honest engines at 1+0.01, 30 info lines a
         move, with 1, 8, 16 and 32 games at a time; these take 5 % of their clock a move, asleep
thinking the same with an engine that keeps a processor busy: shows where the machine ends
"""

import argparse
import asyncio
import os
import sys
import time
from collections.abc import Sequence

import chess
import chess.engine
from tests.engines.matches import mover

from rookery.core.timecontrol import parse
from rookery.worker.match.adjudication import Adjudication
from rookery.worker.match.events import GameEnded, LatencyMeasured
from rookery.worker.match.job import PairJob, Setup
from rookery.worker.match.latency import Latency
from rookery.worker.match.record import GameResult, Termination
from rookery.worker.match.sharded import ShardedMatch
from rookery.worker.match.spec import EngineSpec
from rookery.worker.openings.opening import STANDARD

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
    command = (sys.executable, "-m", "rookery.engine")
    one, other = (EngineSpec(name, command, (), parse("1+0.01")) for name in "ab")
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


PARTS = {"ply": per_ply, "versus": versus, "latency": latencies, "thinking": thinking}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    asked = parser.parse_args()
    for name in asked.only:
        print(f"## {name}")
        asyncio.run(PARTS[name](asked.quick))
        print()


if __name__ == "__main__":
    main()
