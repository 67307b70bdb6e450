"""Kills the primary under commands that are sent to a secondary: each happens once or is refused.

    scripts/prove forwarding [--kills N] [--seed N]

Two servers on one database. Tests are submitted, approved and stopped through the one that stands
by, nine commands at once, and the primary is killed with SIGKILL at some moment within the first
120 ms of that. The other takes over, a new one stands by, and so on. In the end the log of actions
says how often each command happened.
"""

import argparse
import asyncio
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

from scripts.progress import Progress
from tests.database import running
from tests.faults.command_campaign import command_campaign


async def prove(kills: int, seed: int, folder: Path) -> int:
    chance, told, waits = random.Random(seed), Progress(kills, "kills"), []
    with running(folder / "postgres") as database:
        async with command_campaign(database, folder) as campaign:
            for number in range(kills):
                await campaign.start()
                began = time.monotonic()
                answers = await campaign.strike(chance)
                waits.append(time.monotonic() - began)
                told.tell(number + 1, f"{sum(each.is_done for each in answers)} done")
            wrong = await campaign.find_wrong()
            sent = campaign.sent
    done = sum(each.is_done for each in sent)
    print(f"{len(sent)} commands under {kills} kills: {done} done, {len(sent) - done} refused")
    print(f"happened twice, or told and not done: {len(wrong)}")
    print("\n".join(wrong[:20]))
    spread = f"{min(waits):.1f} / {statistics.median(waits):.1f} / {max(waits):.1f}"
    print(f"seconds until all nine were answered, least / median / most: {spread}")
    return 1 if wrong else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/prove forwarding", description=__doc__)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    wanted, began = parser.parse_args(), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        code = asyncio.run(prove(wanted.kills, wanted.seed, Path(folder)))
    print(f"\n{time.monotonic() - began:.0f} s")
    return code


if __name__ == "__main__":
    sys.exit(main())
