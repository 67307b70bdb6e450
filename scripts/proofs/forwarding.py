"""Kills the primary under commands that are sent to a secondary: each happens once or is refused.

    scripts/prove forwarding [--kills N] [--workers N] [--seed N]

Two servers on one database, and a small fleet that plays on both. Tests are submitted, approved,
stopped and purged through the one that stands by, three of each at once, and the primary is killed
with SIGKILL at some moment within the first 120 ms of that. The other takes over, a new one stands
by, and so on. What is stopped has been played for a while, and some workers crashed on it, so that
there is something to strike out. In the end the log of actions says how often each command
happened, and the rows are held against the ledger of the fleet.
"""

import random
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from scripts.progress import Progress
from scripts.proof import read_options, run_timed, tell_findings
from tests.database import running
from tests.faults.forwarded_commands import ForwardedCommands
from tests.faults.several_servers import SeveralServers, several_servers
from tests.fleet.audit import Audit

RUNS = 4


@dataclass(frozen=True, slots=True)
class Wanted:
    kills: int = 30
    workers: int = 12
    seed: int = 1


async def prove(wanted: Wanted, folder: Path) -> int:
    chance, told, waits = random.Random(wanted.seed), Progress(wanted.kills, "kills"), []
    with running(folder / "postgres") as database:
        async with several_servers(database, folder, 1, runs=RUNS, seed=wanted.seed) as farm:
            commands = ForwardedCommands(farm)
            async with farm.fleet.at_work(wanted.workers):
                for number in range(wanted.kills):
                    await farm.start()
                    await farm.until_all_answer()
                    await farm.fleet.wrote_again()
                    began = time.monotonic()
                    answers = await commands.strike(chance)
                    waits.append(time.monotonic() - began)
                    told.tell(number + 1, f"{sum(each.is_done for each in answers)} done")
            audit, wrong = await farm.audit(), await farm.people.find_wrong()
    report(farm, wanted.kills, commands, audit, wrong)
    spread = f"{min(waits):.1f} / {statistics.median(waits):.1f} / {max(waits):.1f}"
    print(f"seconds until all of them were answered, least / median / most: {spread}")
    tell_findings([*wrong, *audit.wrong])
    return 0 if commands.struck and not wrong and not audit.wrong else 1


def report(
    farm: SeveralServers, kills: int, commands: ForwardedCommands, audit: Audit, wrong: list[str]
) -> None:
    sent, ledger = farm.people.sent, farm.fleet.ledger
    print("| command | sent | done | refused in words |\n|---|---|---|---|")
    for action in sorted({each.action for each in sent}):
        of_it = [each for each in sent if each.action == action]
        done = sum(each.is_done for each in of_it)
        print(f"| {action} | {len(of_it)} | {done} | {len(of_it) - done} |")
    print(
        f"\n{len(sent)} commands under {kills} kills; happened twice, or told and not done:"
        f" {len(wrong)}. Purges struck out {commands.struck:,} tasks.\n"
        f"\nThe fleet beside it: {farm.lines.calls:,} calls, {farm.lines.refused:,} without an"
        f" answer; {ledger.acknowledged_games():,} games acknowledged, {audit.games:,} in the rows"
        f" without those that were struck out, {audit.tasks:,} tasks; disagreements of rows and"
        f" ledger: {len(audit.wrong)}.\n"
    )


if __name__ == "__main__":
    sys.exit(run_timed(prove, read_options(Wanted, __doc__)))
