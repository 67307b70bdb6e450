"""Takes backups under load, restores each elsewhere and holds it against the ledger of its moment.

    scripts/prove backup [--backups N] [--workers N] [--seed N]

So many backups with files are taken at random moments, first of a server that keeps its files in a
folder, then of one with files in a real S3 server. Each is restored in another place, where files
go to S3 or to a folder, the other way round, and a server is started on it. Its tasks must hold
exactly what they held at the end of one of the group commits, which a trigger notes; all that was
acknowledged before the backup began must be among it, and nothing that had not been sent when it
ended; sums, LLR, overshoot and theta must follow from its tasks; every upload of games that was
taken before must be there with its file, and none that was sent afterwards.
"""

import asyncio
import random
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from scripts.progress import Progress
from scripts.proof import option, read_options, run_timed, tell_findings
from tests.bucket_server import CREDENTIALS, serve_bucket
from tests.faults.backups import (
    TakenBackup,
    UploadingConnections,
    back_up,
    read_moments,
    restore,
    watch_moments,
)
from tests.faults.server_campaign import campaign_on
from tests.fleet.fleet import SimulatedFleet
from tests.fleet.worker import Faults
from tests.rookery_process import SIMULATED

RUNS = 6
Settings = Mapping[str, str]
FOLDER, BUCKET = "a folder", "S3"
HEAD = (
    "| files in | restored to | backup took | games acknowledged before | in it | sent by its end"
    " | tasks | uploads taken before | in it | sent by its end | as of commit"
    " | wrong |\n|" + "---|" * 12
)


@dataclass(frozen=True, slots=True)
class Wanted:
    backups: int = option(5, "of a server with files in a folder, and of one with files in S3")
    workers: int = 40
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Timed:
    """A backup, with the duration of the command."""

    backup: TakenBackup
    seconds: float


@dataclass(frozen=True, slots=True)
class Series:
    """All backups of one server, its fleet, and the contents of its tasks after each commit."""

    taken: list[Timed]
    fleet: SimulatedFleet
    moments: Mapping[str, int]


async def take_all(
    place: Path, settings: Settings, wanted: Wanted, told: Progress, done: int
) -> Series:
    """Takes all backups of one busy server, which is stopped afterwards."""
    chance, taken = random.Random(f"{wanted.seed} {done}"), list[Timed]()
    async with campaign_on(place / "here", runs=RUNS, more=settings) as campaign:
        fleet = campaign.fleet
        fleet.lines = lines = UploadingConnections(fleet.lines)
        fleet.faults = Faults(games=0.5)
        await watch_moments(campaign.data)
        async with fleet.at_work(wanted.workers):
            for number in range(1, wanted.backups + 1):
                await asyncio.sleep(chance.uniform(1.5, 4))
                began = time.monotonic()
                backup = await back_up(campaign, lines, place / "backups")
                taken.append(Timed(backup, time.monotonic() - began))
                told.tell(done + number, backup.said)
        moments = await read_moments(campaign.data)
    return Series(taken, fleet, moments)


async def prove_for(
    place: Path, where: str, here: Settings, elsewhere: Callable[[int], Settings], wanted: Wanted
) -> bool:
    """Takes and checks all backups; returns whether they are correct. `here` are the settings of
    the server, `elsewhere` those of each restored one."""
    told, done = Progress(4 * wanted.backups, "steps"), 0 if where == FOLDER else 2 * wanted.backups
    series = await take_all(place, here, wanted, told, done)
    good, fleet = True, series.fleet
    for number, timed in enumerate(series.taken, 1):
        backup = timed.backup
        # Its workers have stopped; the ledger remains.
        there = place / f"there{number}"
        found = await restore(
            backup, place / "backups", there, elsewhere(number), fleet, series.moments
        )
        print(
            f"| {where} | {BUCKET if where == FOLDER else FOLDER} | {timed.seconds:.1f} s"
            f" | {backup.acknowledged.games:,} | {found.games:,}"
            f" | {backup.games_sent(fleet.ledger):,} | {found.tasks:,}"
            f" | {backup.uploads_taken.total():,} | {found.uploads:,}"
            f" | {backup.uploads_sent.total():,} | {found.commit:,} | {len(found.wrong)} |",
            flush=True,
        )
        tell_findings(found.wrong)
        told.tell(done + wanted.backups + number, "restored")
        good = good and not found.wrong and found.games > 0 and found.uploads > 0
    return good


async def prove(wanted: Wanted, folder: Path) -> int:
    print(HEAD)
    good = True
    with serve_bucket(folder / "buckets") as bucket:

        def in_bucket(number: int) -> Settings:
            return SIMULATED | CREDENTIALS | {"ROOKERY_FILES_URL": bucket.url(f"site{number}")}

        def in_folder(_number: int) -> Settings:
            return SIMULATED

        for where in (FOLDER, BUCKET):
            place = folder / where
            place.mkdir()
            here, there = (in_folder, in_bucket) if where == FOLDER else (in_bucket, in_folder)
            good = await prove_for(place, where, here(0), there, wanted) and good
    print(
        f"\nEach backup was taken while {wanted.workers} workers with every fault played. It is the"
        " state of all tasks at the end of the commit that is named: of each task what was"
        " acknowledged when it began, or a report that had been sent when it ended. The restored"
        " server shows what follows from its tasks; no file that a row names is missing, and each"
        " was compared with its digest when it was restored."
    )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(run_timed(prove, read_options(Wanted, __doc__)))
