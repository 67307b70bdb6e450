"""Kills server, PostgreSQL or a backend under a simulated fleet, at named moments and at random.

    scripts/prove fleet-kills [--rounds N] [--minutes N] [--workers N] [--seed N]

After every tenth of the rounds, and in the end, what the server shows is held against its tasks
and these against the ledger of what was acknowledged. No round begins after so many minutes; it
holds only if each victim was struck at least five times by then.
"""

import asyncio
import collections
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from scripts.progress import Progress
from scripts.proof import read_options, run_timed, tell_findings
from tests.faults.server_campaign import MOMENTS, Campaign, campaign_on
from tests.faults.serving import count_corrections
from tests.fleet.audit import Audit

VICTIMS = (*MOMENTS, "server", "server", "postgres", "backend")
LEAST_TIMES = 5
PARTS = 10
RUNS = 10


@dataclass(frozen=True, slots=True)
class Wanted:
    rounds: int = 104
    minutes: float = 10.0
    workers: int = 40
    seed: int = 1


def victims(wanted: Wanted, chance: random.Random) -> Iterator[str]:
    """The victims in random order, each as often as wanted."""
    for begun in range(0, wanted.rounds, len(VICTIMS)):
        yield from chance.sample(VICTIMS, min(len(VICTIMS), wanted.rounds - begun))


async def round_of(campaign: Campaign, victim: str, chance: random.Random) -> None:
    if victim not in MOMENTS:
        await campaign.strike(victim, chance.uniform(0, 2))
        return
    if campaign.server is not None:
        await asyncio.to_thread(campaign.server.stop)
        campaign.server = None
    await campaign.die_at(victim, chance.randrange(1, 200))


async def balanced(campaign: Campaign) -> bool:
    """Whether the audit finds nothing wrong; to be called while no worker is active."""
    audit = await campaign.audit()
    tell_findings(audit.wrong)
    return not audit.wrong


async def part_of(
    campaign: Campaign, left: Iterator[str], wanted: Wanted, chance: random.Random, told: Progress
) -> bool:
    """Plays a tenth of the rounds with its own workers; returns whether the books balance
    afterwards."""
    async with campaign.fleet.at_work(wanted.workers):
        for _ in range(max(1, wanted.rounds // PARTS)):
            victim = next(left, None)
            if victim is None or told.seconds > 60 * wanted.minutes:
                break
            await round_of(campaign, victim, chance)
            told.tell(len(campaign.deaths), f"{campaign.fleet.lines.calls:,} calls")
        if campaign.server is None:
            await campaign.start()
    return await balanced(campaign)


async def prove(wanted: Wanted, folder: Path) -> int:
    chance, told = random.Random(wanted.seed), Progress(wanted.rounds, "kills")
    left = victims(wanted, chance)
    async with campaign_on(folder / "data", runs=RUNS) as campaign:
        while len(campaign.deaths) < wanted.rounds and told.seconds <= 60 * wanted.minutes:
            if not await part_of(campaign, left, wanted, chance, told):
                return 1
        audit = await campaign.audit()
        corrections = await asyncio.to_thread(count_corrections, campaign.data)
    deaths = collections.Counter(campaign.deaths)
    report(campaign, deaths, audit, corrections)
    enough = min(LEAST_TIMES, wanted.rounds // len(VICTIMS))
    missed = [victim for victim in VICTIMS if deaths[victim] < enough]
    if missed:
        print(f"too few kills in {wanted.minutes:g} minutes of: {', '.join(missed)}")
    return 1 if corrections or missed else 0


def report(
    campaign: Campaign, deaths: collections.Counter[str], audit: Audit, corrections: int
) -> None:
    ledger, lines = campaign.fleet.ledger, campaign.fleet.lines
    print("| killed | times |\n|---|---|")
    for death, times in sorted(deaths.items()):
        print(f"| {death.replace('_', ' ')} | {times} |")
    print(
        f"\n{lines.calls:,} calls, {lines.refused:,} of them without an answer;"
        f" {ledger.forged:,} forged reports, none accepted."
        f"\n{len(ledger.entries):,} tasks heard of, {audit.tasks:,} in the rows, none given twice,"
        " ranges without gap or overlap, none ended under its worker."
        f"\n{ledger.acknowledged_games():,} games acknowledged, {audit.games:,} in the rows, each"
        " where the ledger has it or one unanswered report further."
        "\nResults, committed games, cores, LLR, iterations and theta follow from the tasks, the"
        f" overshoot of sequential tests from {audit.replayed:,} counted reports in their order;"
        f" sums corrected at a start: {corrections}."
    )


if __name__ == "__main__":
    sys.exit(run_timed(prove, read_options(Wanted, __doc__)))
