"""Twenty thousand simulated workers with every fault on one server: the ledger is exact.

    scripts/prove fleet [--workers N] [--seconds N] [--kills N]

Each worker reports every few minutes as a real one does, sped up by a factor, sends reports twice,
late, cut off, truncated and forged, vanishes and comes back, and fails. The server may be killed
meanwhile. Honest tasks may not die: none is buried while its worker lives.
"""

import argparse
import asyncio
import resource
import sys
import tempfile
import time
from pathlib import Path

from tests.faults.server_campaign import Campaign, campaign_on
from tests.fleet.worker import Pace

OPEN_FILES = 4096
REPORT_SECONDS = 240.0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/prove fleet", description=__doc__)
    parser.add_argument("--workers", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=180.0)
    parser.add_argument("--speed", type=float, default=4.0, help="times as fast as real workers")
    parser.add_argument("--kills", type=int, default=2)
    return parser.parse_args()


async def prove(chosen: argparse.Namespace, folder: Path) -> int:
    async with campaign_on(folder / "data", runs=50) as campaign:
        fleet = campaign.fleet
        fleet.pace = Pace(seconds=REPORT_SECONDS / chosen.speed, reports=1000)
        began, calls = time.monotonic(), fleet.lines.calls
        async with fleet.at_work(chosen.workers, within=chosen.seconds / 3):
            for _ in range(chosen.kills):
                await asyncio.sleep(chosen.seconds / (chosen.kills + 1))
                await campaign.strike("server", 0)
                await campaign.start()
            await asyncio.sleep(max(0.0, began + chosen.seconds - time.monotonic()))
            rate = (fleet.lines.calls - calls) / (time.monotonic() - began)
        audit = await fleet.audit()
        for word in audit.wrong[:20]:
            print(word, file=sys.stderr)
        dead = await campaign.dead_tasks()
        report(campaign, chosen, rate, audit.games, dead)
        return 1 if audit.wrong or dead else 0


def report(
    campaign: Campaign, chosen: argparse.Namespace, rate: float, games: int, dead: int
) -> None:
    ledger, lines = campaign.fleet.ledger, campaign.fleet.lines
    print(
        f"{chosen.workers:,} workers, {chosen.seconds:.0f} s, {chosen.kills} kills of the server:"
        f" {lines.calls:,} calls, {rate:,.0f} a second, {lines.refused:,} without an answer."
        f"\n{len(ledger.entries):,} tasks, none given twice, ranges without gap or overlap;"
        f" {ledger.forged:,} forged reports, none accepted."
        f"\n{ledger.acknowledged_games():,} games acknowledged, {games:,} in the rows; lost: 0."
        f"\nTasks buried for silence: {dead}."
    )


def main() -> int:
    resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, OPEN_FILES))
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(prove(arguments(), Path(folder)))


if __name__ == "__main__":
    sys.exit(main())
