"""Kills PostgreSQL under a fleet and promotes its standby: nothing acknowledged is lost.

    scripts/prove promotion [--promotions N] [--workers N] [--seed N] [--asynchronous]

One server with an address of two hosts serves throughout. Before most kills the standby hears
nothing for a moment, so that the primary dies with commits that the standby never gets. After
every fifth promotion, and in the end, what the server shows is held against its tasks and these
against the ledger of what was acknowledged.
With --asynchronous no commit waits for the standby: the books then need not balance, which shows
what the proof is able to see.
"""

import argparse
import asyncio
import random
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from scripts.progress import Progress
from tests.faults.server_campaign import Campaign, campaign_on
from tests.faults.standby import Pair, standby_pair
from tests.fleet.audit import Audit

PART = 5
RUNS = 6
CUTS = (0.0, 0.3, 1.0)
"""Seconds before the kill in which the standby hears nothing more."""


@dataclass(frozen=True, slots=True)
class Wanted:
    promotions: int
    workers: int
    seed: int
    asynchronous: bool


@dataclass(slots=True)
class Times:
    """Seconds from each kill until the standby was promoted, and until a report was acknowledged
    again."""

    promoted: list[float] = field(default_factory=list)
    serving: list[float] = field(default_factory=list)


def arguments() -> Wanted:
    parser = argparse.ArgumentParser(prog="scripts/prove promotion", description=__doc__)
    parser.add_argument("--promotions", type=int, default=20)
    parser.add_argument("--workers", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--asynchronous", action="store_true")
    return Wanted(**vars(parser.parse_args()))


async def promote(
    pair: Pair, campaign: Campaign, chance: random.Random, times: Times, *, asynchronous: bool
) -> None:
    """At a moment by chance; then the old primary comes back as the standby."""
    if asynchronous:
        await asyncio.to_thread(pair.primary.wait_for_standby, False)
    await asyncio.sleep(chance.uniform(0.5, 3))
    times.promoted.append(await pair.fail_over(cut_seconds=chance.choice(CUTS)))
    promoted = time.monotonic()
    assert campaign.server is not None
    await campaign.get_over_it(campaign.server)
    times.serving.append(times.promoted[-1] + time.monotonic() - promoted)
    await pair.attach_standby()


async def play_part(
    pair: Pair, campaign: Campaign, wanted: Wanted, chance: random.Random, times: Times
) -> Audit:
    """Some promotions with workers of their own, and the books after them."""
    told = Progress(wanted.promotions, "promotions")
    async with campaign.fleet.at_work(wanted.workers):
        for _ in range(min(PART, wanted.promotions - len(times.serving))):
            await promote(pair, campaign, chance, times, asynchronous=wanted.asynchronous)
            told.tell(len(times.serving), f"{campaign.fleet.lines.calls:,} calls")
    return await campaign.audit()


async def prove(wanted: Wanted, folder: Path) -> int:
    chance, times, audit = random.Random(wanted.seed), Times(), None
    async with (
        standby_pair() as pair,
        campaign_on(folder / "data", runs=RUNS, database_url=pair.url) as campaign,
    ):
        while len(times.serving) < wanted.promotions:
            audit = await play_part(pair, campaign, wanted, chance, times)
            if audit.wrong:
                print(f"wrong after {len(times.serving)} promotions: {len(audit.wrong)} findings")
                print("\n".join(audit.wrong[:20]))
                return 1
    assert audit is not None
    report(campaign, times, audit)
    return 0


def report(campaign: Campaign, times: Times, audit: Audit) -> None:
    ledger, lines = campaign.fleet.ledger, campaign.fleet.lines
    print("| seconds from the kill of the primary | least | median | most |\n|---|---|---|---|")
    for what, each in (
        ("until the standby was promoted", times.promoted),
        ("until a report was acknowledged again", times.serving),
    ):
        print(f"| {what} | {min(each):.1f} | {statistics.median(each):.1f} | {max(each):.1f} |")
    print(
        f"\n{len(times.serving)} promotions under {lines.calls:,} calls, {lines.refused:,} of them"
        f" without an answer; {ledger.forged:,} forged reports, none accepted."
        f"\n{len(ledger.entries):,} tasks heard of, {audit.tasks:,} in the rows."
        f"\n{ledger.acknowledged_games():,} games acknowledged, {audit.games:,} in the rows, each"
        " where the ledger has it or one unanswered report further; the overshoot of sequential"
        f" tests follows from {audit.replayed:,} counted reports in their order."
    )


def main() -> int:
    wanted, began = arguments(), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        code = asyncio.run(prove(wanted, Path(folder)))
    print(f"\n{time.monotonic() - began:.0f} s")
    return code


if __name__ == "__main__":
    sys.exit(main())
