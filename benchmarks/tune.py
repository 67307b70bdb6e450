"""What a tune costs a machine per pair: engines that stay between batches, and engines that don't.

    PYTHONPATH=src:. python benchmarks/tune.py [--batches N] [--pairs N] [--nodes N]

The bundled engine plays itself at fixed nodes, at one slot, with other values in each batch. CPU
is that of the runner processes and the engines together; both ways are played in turns.
"""

import argparse
import asyncio
import resource
import sys
from contextlib import nullcontext

from rookery.match.job import Adjudication, EngineSpec, Match, PairJob, Setup
from rookery.match.openings import STANDARD
from rookery.match.sharded import BatchedMatch, MatchBatch, ShardedMatch

COMMAND = (sys.executable, "-m", "rookery.match.fledgling")
MOVES = 20
ROUNDS = 3


def jobs(batch: int, pairs: int, nodes: int) -> list[PairJob]:
    tempo = ("Hash", "1"), ("Tempo", str(10 + batch % 5))
    sides = [EngineSpec(name, COMMAND, tempo, f"N={nodes}") for name in ("new", "base")]
    return [PairJob(number, STANDARD, *sides) for number in range(pairs)]


async def play(setup: Setup, args: argparse.Namespace, *, lasting: bool) -> None:
    async with BatchedMatch(setup) if lasting else nullcontext() as kept:
        for number in range(args.batches):
            batch = jobs(number, args.pairs, args.nodes)
            match: Match = MatchBatch(kept, batch) if kept else ShardedMatch(batch, setup)
            async with match:
                async for _ in match:
                    pass


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", type=int, default=10)
    parser.add_argument("--pairs", type=int, default=1)
    parser.add_argument("--nodes", type=int, default=500)
    args = parser.parse_args()
    setup = Setup(Adjudication(most_moves=MOVES))
    for _ in range(ROUNDS):
        for lasting, name in ((False, "anew for each batch"), (True, "kept between batches")):
            before = cpu_seconds()
            asyncio.run(play(setup, args, lasting=lasting))
            spent = (cpu_seconds() - before) / (args.batches * args.pairs)
            print(f"{name:22} {1000 * spent:6.0f} ms of CPU per pair", flush=True)


if __name__ == "__main__":
    main()
