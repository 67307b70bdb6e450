"""Upgrades a farm under load from an earlier commit's code and schema, and takes the upgrade back.

    scripts/prove upgrade [--rounds N] [--workers N] [--old COMMIT] [--previous COMMIT] [--seed N]

Each of the first rounds is a database made by the old code, from before there were migrations, with
runs and workers under way. A later version starts beside it and migrates: what this code knows, a
new column in every table, and an index of the tasks; in every second round it is killed right after
one of them, or while it makes the next, and begun anew. After a while the old one is stopped and
the new one takes over. Then this version, which knows two migrations fewer, takes over from that
one without a failed call.

As many rounds begin with two servers of the previous version, the last one whose schema was another
than this one's, a primary and one that stands by. They are replaced one after the other by servers
of this version, the first of which migrates beside them, and these by two of the previous version
again, all without a failed call. In the end of each round the rows are held against the ledger. It
needs a clone with its whole history.
"""

import asyncio
import random
import sys
from dataclasses import dataclass
from pathlib import Path

from scripts.progress import Progress
from scripts.proof import option, read_options, run_timed, tell_findings
from tests.faults.serving import count_corrections, wait_for_port
from tests.faults.upgrading import (
    OLD,
    HistoryMissing,
    Upgrading,
    Version,
    check_out,
    farm_of,
    find_previous,
    later_version,
    newest_migration,
)
from tests.rookery_process import RookeryProcess

RUNS = 6
HEAD = (
    "| round | new one killed | calls | games acknowledged | in the rows | tasks"
    " | migrating | new takes over | taken back | calls failed | and back |\n|" + "---|" * 11
)
HEAD_OF_TWO = (
    "| round | calls | games acknowledged | in the rows | tasks | no answer for, forward"
    " | and back | calls failed, forward | and back |\n|" + "---|" * 9
)


@dataclass(frozen=True, slots=True)
class Wanted:
    rounds: int = option(6, "from each of the two versions")
    workers: int = 30
    old: str = option(OLD, "the commit whose code is the old version")
    previous: str = option("", "that of the previous version; the last one of another schema")
    seed: int = 1


async def migrate_beside(
    farm: Upgrading, later: Version, newest: int, kill_after: int
) -> RookeryProcess:
    """Starts the later version beside the active one; returns the server that completed the
    migration."""
    if kill_after:
        victim = await farm.start(later)
        await asyncio.to_thread(victim.until, "migration_applied", kill_after)
        await asyncio.to_thread(victim.kill)
    new = await farm.start(later)
    await farm.until_migrated(newest)
    await farm.fleet.wrote_again()
    return new


async def take_back(farm: Upgrading, new: RookeryProcess) -> int:
    """Lets the version that knows fewer migrations take over; returns how many calls had no
    answer."""
    back = await farm.start(Version())
    await asyncio.to_thread(back.until, "schema_newer")
    return await farm.replace(new, back, unnoticed=True)


async def play(
    number: int, old: Version, later: Version, newest: int, wanted: Wanted, folder: Path
) -> bool:
    """Plays one round; returns whether the books balance afterwards."""
    chance = random.Random(f"{wanted.seed} {number}")
    known = await asyncio.to_thread(newest_migration, old.migrations)
    kill_after = chance.randrange(1, newest - known) if number % 2 == 0 else 0
    async with farm_of(old, folder, runs=RUNS) as farm:
        async with farm.fleet.at_work(wanted.workers):
            await asyncio.sleep(chance.uniform(0.5, 3))
            async with farm.fleet.listening_for_silence() as migrating:
                new = await migrate_beside(farm, later, newest, kill_after)
                await asyncio.sleep(chance.uniform(0, 2))
            async with farm.fleet.listening_for_silence() as taking_over:
                stands_by = await asyncio.to_thread(lambda: old.stands_by)
                failed = await farm.replace(farm.servers[0], new, unnoticed=stands_by)
            await asyncio.sleep(chance.uniform(0, 2))
            async with farm.fleet.listening_for_silence() as back:
                failed_back = await take_back(farm, new)
        audit = await farm.audit()
        corrections = await asyncio.to_thread(count_corrections, farm.data)
    killed = f"after migration {known + kill_after}" if kill_after else "no"
    silences = " | ".join(f"{each.seconds:.1f} s" for each in (migrating, taking_over, back))
    print(
        f"| {number} | {killed} | {farm.fleet.lines.calls:,}"
        f" | {farm.fleet.ledger.acknowledged_games():,} | {audit.games:,} | {audit.tasks:,}"
        f" | {silences} | {failed} | {failed_back} |"
    )
    tell_findings(audit.wrong)
    noticed = failed_back or (failed and stands_by)
    return not audit.wrong and not corrections and not noticed


async def replace_both(farm: Upgrading, version: Version) -> int:
    """Replaces both servers by two of another version, first the one that stands by; returns how
    many calls had no answer."""
    failed, former = 0, farm.servers[-2:]
    for old in reversed(former):
        new = await farm.start(version)
        await wait_for_port(new)
        failed += await farm.replace(old, new, unnoticed=True)
    return failed


async def play_of_two(
    number: int, previous: Version, newest: int, wanted: Wanted, folder: Path
) -> bool:
    """Plays one round with two servers; returns whether no call failed and the books balance."""
    chance = random.Random(f"{wanted.seed} two {number}")
    async with farm_of(previous, folder, runs=RUNS) as farm:
        await wait_for_port(await farm.start(previous))
        async with farm.fleet.at_work(wanted.workers):
            await asyncio.sleep(chance.uniform(0.5, 3))
            async with farm.fleet.listening_for_silence() as forward:
                failed = await replace_both(farm, Version())
                await farm.until_migrated(newest)
            await asyncio.sleep(chance.uniform(0.5, 2))
            async with farm.fleet.listening_for_silence() as back:
                failed_back = await replace_both(farm, previous)
            await farm.fleet.wrote_again()
        audit = await farm.audit()
        corrections = await asyncio.to_thread(count_corrections, farm.data)
    print(
        f"| {number} | {farm.fleet.lines.calls:,} | {farm.fleet.ledger.acknowledged_games():,}"
        f" | {audit.games:,} | {audit.tasks:,} | {forward.seconds:.1f} s | {back.seconds:.1f} s"
        f" | {failed} | {failed_back} |"
    )
    tell_findings(audit.wrong)
    return not audit.wrong and not corrections and not failed and not failed_back


async def prove(wanted: Wanted, folder: Path) -> int:
    try:
        named = wanted.previous or await asyncio.to_thread(find_previous)
        old = await asyncio.to_thread(check_out, wanted.old, folder / "old")
        previous = await asyncio.to_thread(check_out, named, folder / "previous")
    except HistoryMissing as missing:
        print(missing, file=sys.stderr)
        return 1
    later = await asyncio.to_thread(later_version, folder / "migrations")
    newest = newest_migration(folder / "migrations")
    told = Progress(2 * wanted.rounds, "upgrades")
    print(f"From {wanted.old}, one server:\n\n{HEAD}")
    for number in range(1, wanted.rounds + 1):
        place = folder / str(number)
        place.mkdir()
        if not await play(number, old, later, newest, wanted, place):
            return 1
        told.tell(number)
    known = newest_migration(previous.migrations), newest_migration(Version().migrations)
    print(f"\nFrom {named}, two servers that hand over:\n\n{HEAD_OF_TWO}")
    for number in range(1, wanted.rounds + 1):
        place = folder / f"two {number}"
        place.mkdir()
        if not await play_of_two(number, previous, known[1], wanted, place):
            return 1
        told.tell(wanted.rounds + number)
    print(
        f"\nFrom {wanted.old} to this version and {newest} migrations, and from {known[0]}"
        f" migrations of {named} to {known[1]} of this version, with {wanted.workers}"
        " workers of every fault; the times: the longest time in which no report or"
        " request of a task was answered. Every acknowledged report is in the rows and every task"
        " was given once; sums, LLR, overshoot and theta follow from the tasks; no sum had to be"
        " corrected."
    )
    return 0


if __name__ == "__main__":
    sys.exit(run_timed(prove, read_options(Wanted, __doc__)))
