"""Kills server, PostgreSQL or a backend under a simulated fleet, at named moments and at random.

    scripts/prove fleet-kills [--rounds N] [--workers N] [--seed N]

After every tenth of the rounds, and in the end, what the server shows is held against its tasks
and these against the ledger of what was acknowledged.
"""

import argparse
import asyncio
import collections
import random
import sys
import tempfile
import time
from pathlib import Path

from tests.faults.server_campaign import MOMENTS, Campaign, campaign_on

VICTIMS = (*MOMENTS, "server", "server", "postgres", "backend")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/prove fleet-kills", description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--workers", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


async def round_of(campaign: Campaign, chance: random.Random) -> None:
    victim = chance.choice(VICTIMS)
    if victim not in MOMENTS:
        await campaign.strike(victim, chance.uniform(0, 2))
        return
    if campaign.server is not None:
        await asyncio.to_thread(campaign.server.stop)
        campaign.server = None
    await campaign.die_at(victim, chance.randrange(1, 200))


async def balanced(campaign: Campaign) -> bool:
    """Whether nothing is wrong, while the workers go on: so only between two of their lives."""
    audit = await campaign.fleet.audit()
    for word in audit.wrong[:20]:
        print(word, file=sys.stderr)
    return not audit.wrong


async def prove(rounds: int, workers: int, seed: int, folder: Path) -> int:
    chance, parts = random.Random(seed), 10
    async with campaign_on(folder / "data", runs=10) as campaign:
        fleet = campaign.fleet
        for part in range(parts):
            async with fleet.at_work(workers):
                for _ in range(rounds // parts):
                    await round_of(campaign, chance)
                await campaign.start() if campaign.server is None else None
            if not await balanced(campaign):
                return 1
            print(f"{(part + 1) * 100 // parts} %", file=sys.stderr, flush=True)
        audit = await fleet.audit()
        corrections = await asyncio.to_thread(campaign.corrections)
        report(campaign, audit.tasks, audit.games, corrections)
    return 1 if corrections else 0


def report(campaign: Campaign, tasks: int, games: int, corrections: int) -> None:
    ledger, lines = campaign.fleet.ledger, campaign.fleet.lines
    print("| killed | times |\n|---|---|")
    for death, times in sorted(collections.Counter(campaign.deaths).items()):
        print(f"| {death.replace('_', ' ')} | {times} |")
    print(
        f"\n{lines.calls:,} calls, {lines.refused:,} of them without an answer;"
        f" {ledger.forged:,} forged reports, none accepted."
        f"\n{len(ledger.entries):,} tasks heard of, {tasks:,} in the rows, none given twice,"
        " ranges without gap or overlap."
        f"\n{ledger.acknowledged_games():,} games acknowledged, {games:,} in the rows, each where"
        " the ledger has it or one unanswered report further."
        f"\nResults, committed games, cores, LLR, iterations and theta follow from the tasks;"
        f" sums corrected at a start: {corrections}."
    )


def main() -> int:
    chosen, began = arguments(), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        code = asyncio.run(prove(chosen.rounds, chosen.workers, chosen.seed, Path(folder)))
    print(f"\n{time.monotonic() - began:.0f} s")
    return code


if __name__ == "__main__":
    sys.exit(main())
