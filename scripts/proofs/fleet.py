"""Twenty thousand simulated workers with every fault on one server: the ledger is exact.

    scripts/prove fleet [--workers N] [--seconds N] [--speed N] [--kills N] [--outage N]

Each worker reports every few minutes as a real one does, sped up by a factor, sends reports twice,
late, out of order, cut off, truncated and forged, vanishes and comes back, and fails. The server is
killed meanwhile, and once its database says nothing for a while. Honest tasks may not die: none is
buried while its worker lives.
"""

import asyncio
import resource
import sys
from dataclasses import dataclass
from pathlib import Path

from scripts.progress import Progress
from scripts.proof import option, read_options, run, tell_findings
from tests.faults.server_campaign import Campaign, campaign_on
from tests.fleet.audit import Audit
from tests.fleet.worker import Pace

OPEN_FILES = 4096
REPORT_SECONDS = 240.0
RUNS = 50
LOOK_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Wanted:
    workers: int = 20_000
    seconds: float = option(240.0, "a third of it to begin")
    speed: float = option(4.0, "times as fast as real workers")
    kills: int = 2
    outage: float = option(20.0, "seconds; 0 for none")


async def until(moment: float, told: Progress, campaign: Campaign) -> None:
    """Waits until a number of seconds after the beginning."""
    while (left := moment - told.seconds) > 0:
        await asyncio.sleep(min(left, LOOK_SECONDS))
        told.tell(int(told.seconds), f"{campaign.fleet.lines.calls:,} calls")


async def prove(wanted: Wanted, folder: Path) -> int:
    async with campaign_on(folder / "data", runs=RUNS) as campaign:
        fleet = campaign.fleet
        fleet.pace = Pace(seconds=REPORT_SECONDS / wanted.speed, reports=1000)
        told, calls = Progress(int(wanted.seconds), "seconds"), fleet.lines.calls
        async with fleet.at_work(wanted.workers, within=wanted.seconds / 3):
            for number in range(wanted.kills):
                share = (2 + number + 1) / (2 + wanted.kills + 1)
                await until(wanted.seconds * share, told, campaign)
                await campaign.strike("server", 0)
                await campaign.start()
            if wanted.outage:
                await campaign.outage(wanted.outage)
            await until(wanted.seconds, told, campaign)
            rate = (fleet.lines.calls - calls) / told.seconds
        audit = await campaign.audit()
        tell_findings(audit.wrong)
        dead = await campaign.dead_tasks()
        report(campaign, wanted, rate, audit, dead)
        return 1 if audit.wrong or dead else 0


def report(campaign: Campaign, wanted: Wanted, rate: float, audit: Audit, dead: int) -> None:
    ledger, lines = campaign.fleet.ledger, campaign.fleet.lines
    print(
        f"{wanted.workers:,} workers, {wanted.seconds:.0f} s, {wanted.kills} kills of the server,"
        f" its database away for {wanted.outage:g} s: {lines.calls:,} calls, {rate:,.0f} a second,"
        f" {lines.refused:,} without an answer."
        f"\n{len(ledger.entries):,} tasks, none given twice, none ended under its worker, ranges"
        f" without gap or overlap; {ledger.forged:,} forged reports, none accepted."
        f"\n{ledger.acknowledged_games():,} games acknowledged, {audit.games:,} in the rows;"
        " lost: 0."
        f"\nSequential tests stand where {audit.replayed:,} counted reports in their order take"
        " them, to the last digit of their overshoot."
        f"\nTasks buried for silence: {dead}."
    )


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, OPEN_FILES))
    sys.exit(run(prove, read_options(Wanted, __doc__)))
