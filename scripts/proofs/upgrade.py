"""Upgrades a farm under load from an earlier commit's code and schema, and takes the upgrade back.

    scripts/prove upgrade [--rounds N] [--workers N] [--old COMMIT] [--seed N]

Each round is a database made by the old code, with runs and workers under way. A later version
starts beside it and migrates: what this code knows, a new column in every table, and an index of
the tasks; in every second round it is killed right after one of them, or while it makes the next,
and begun anew. After a while the old one is stopped and the new one takes over. Then this version,
which knows two migrations fewer, takes over from that one without a failed call. In the end the
rows are held against the ledger. It needs a clone with its whole history.
"""

import argparse
import asyncio
import random
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from scripts.progress import Progress
from tests.faults.upgrading import (
    OLD,
    HistoryMissing,
    Upgrading,
    Version,
    check_out,
    farm_of,
    later_version,
    newest_migration,
)
from tests.rookery_process import RookeryProcess

RUNS = 6
HEAD = (
    "| round | new one killed | calls | games acknowledged | in the rows | tasks"
    " | migrating | new takes over | taken back | calls failed | and back |\n|" + "---|" * 11
)


@dataclass(frozen=True, slots=True)
class Wanted:
    rounds: int
    workers: int
    old: str
    seed: int


def arguments() -> Wanted:
    parser = argparse.ArgumentParser(prog="scripts/prove upgrade", description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--workers", type=int, default=30)
    parser.add_argument("--old", default=OLD, help="the commit whose code is the old version")
    parser.add_argument("--seed", type=int, default=1)
    return Wanted(**vars(parser.parse_args()))


async def migrate_beside(
    farm: Upgrading, later: Version, newest: int, kill_after: int
) -> RookeryProcess:
    """Starts the later version beside the one at work; gives the one that ended the migration."""
    if kill_after:
        victim = await farm.start(later)
        await asyncio.to_thread(victim.until, "migration_applied", kill_after)
        await asyncio.to_thread(victim.kill)
    new = await farm.start(later)
    await farm.until_migrated(newest)
    await farm.wrote_again()
    return new


async def take_back(farm: Upgrading, new: RookeryProcess) -> int:
    """The version that knows fewer migrations takes over; how many calls had no answer."""
    back = await farm.start(Version())
    await asyncio.to_thread(back.until, "schema_newer")
    return await farm.replace(new, back, unnoticed=True)


async def play(
    number: int, old: Version, later: Version, newest: int, wanted: Wanted, folder: Path
) -> bool:
    """One round; whether the books balance after it."""
    chance = random.Random(f"{wanted.seed} {number}")
    known = await asyncio.to_thread(newest_migration, old.migrations)
    kill_after = chance.randrange(1, newest - known) if number % 2 == 0 else 0
    async with farm_of(old, folder, runs=RUNS) as farm:
        async with farm.fleet.at_work(wanted.workers):
            await asyncio.sleep(chance.uniform(0.5, 3))
            async with farm.listening_for_silence() as migrating:
                new = await migrate_beside(farm, later, newest, kill_after)
                await asyncio.sleep(chance.uniform(0, 2))
            async with farm.listening_for_silence() as taking_over:
                stands_by = await asyncio.to_thread(lambda: old.stands_by)
                failed = await farm.replace(farm.servers[0], new, unnoticed=stands_by)
            await asyncio.sleep(chance.uniform(0, 2))
            async with farm.listening_for_silence() as back:
                failed_back = await take_back(farm, new)
        audit = await farm.audit()
        corrections = await asyncio.to_thread(farm.count_corrections)
    killed = f"after migration {known + kill_after}" if kill_after else "no"
    silences = " | ".join(f"{each.seconds:.1f} s" for each in (migrating, taking_over, back))
    print(
        f"| {number} | {killed} | {farm.fleet.lines.calls:,}"
        f" | {farm.fleet.ledger.acknowledged_games():,} | {audit.games:,} | {audit.tasks:,}"
        f" | {silences} | {failed} | {failed_back} |"
    )
    for word in audit.wrong[:20]:
        print(word, file=sys.stderr)
    noticed = failed_back or (failed and stands_by)
    return not audit.wrong and not corrections and not noticed


async def prove(wanted: Wanted, folder: Path) -> int:
    try:
        old = await asyncio.to_thread(check_out, wanted.old, folder / "old")
    except HistoryMissing as missing:
        print(missing, file=sys.stderr)
        return 1
    later = await asyncio.to_thread(later_version, folder / "migrations")
    newest = newest_migration(folder / "migrations")
    told = Progress(wanted.rounds, "upgrades")
    print(HEAD)
    for number in range(1, wanted.rounds + 1):
        place = folder / str(number)
        place.mkdir()
        if not await play(number, old, later, newest, wanted, place):
            return 1
        told.tell(number)
    print(
        f"\nFrom {wanted.old} to this version and {newest} migrations, with {wanted.workers}"
        " workers of every fault; the three times: the longest time in which no report or"
        " request of a task was answered. Every acknowledged report is in the rows and every task"
        " was given once; sums, LLR, overshoot and theta follow from the tasks; no sum had to be"
        " corrected."
    )
    return 0


def main() -> int:
    wanted, began = arguments(), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        code = asyncio.run(prove(wanted, Path(folder)))
    print(f"\n{time.monotonic() - began:.0f} s")
    return code


if __name__ == "__main__":
    sys.exit(main())
