"""Fills the disk of the database, or that of the files, under load, and makes room again.

    scripts/prove full-disk [--rounds N] [--workers N] [--seed N]

Both disks are small and of their own; a third of the rounds fills the disk of an external database,
of which the server knows nothing before a write fails. In each round one of them is filled to the
last byte at a random moment, stays so for a while, and is emptied. While the database has no space,
/readyz, a page and workers' calls are to say so; while the files have none, uploads are refused and
everything else goes on. A server that ends for want of space is started again, as its service
manager would. In the end the rows are held against the ledger.
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
from tests.faults.small_disks import DATABASE, FILES, SmallDiskFarm, farm_on_small_disks

RUNS = 6
HEAD = (
    "| round | disk | full for | told after | calls without an answer | writes meanwhile"
    " | all well after | restarts |\n|" + "---|" * 8
)


@dataclass(frozen=True, slots=True)
class Wanted:
    rounds: int
    workers: int
    seed: int


def arguments() -> Wanted:
    parser = argparse.ArgumentParser(prog="scripts/prove full-disk", description=__doc__)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--workers", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    return Wanted(**vars(parser.parse_args()))


async def expect_told(farm: SmallDiskFarm, disk: str) -> None:
    """Whoever asks is told what is the matter."""
    if disk == FILES:
        await farm.until(lambda status, told: status == 200 and "disk of the files" in told)
        assert await farm.put_book("refused") == 503
        return
    await farm.until(lambda status, told: status == 503 and told.startswith("disk full"))


async def expect_refused(farm: SmallDiskFarm, disk: str) -> str:
    """What a person and a worker are told in the middle of it."""
    page = await farm.call("GET", "/login")
    if disk == FILES:
        assert "disk of the files" in page[1], page
        await farm.wrote_again()
        return "yes"
    assert "disk full" in page[1] or not page[0], page
    status, text = await farm.ask_for_a_task()
    assert status in {0, 200, 503}, (status, text)
    assert status != 503 or "disk is full" in text, text
    return {0: "no (restarting)", 200: "still", 503: "no"}[status]


async def play(farm: SmallDiskFarm, number: int, disk: str, chance: random.Random) -> None:
    await asyncio.sleep(chance.uniform(0.5, 3))
    held, refused, restarts = chance.uniform(1, 12), farm.fleet.lines.refused, farm.restarts
    await farm.fill(disk)
    full = time.monotonic()
    await expect_told(farm, disk)
    told = time.monotonic() - full
    await asyncio.sleep(held)
    writes = await expect_refused(farm, disk)
    await farm.empty(disk)
    emptied = time.monotonic()
    await farm.until(lambda status, told: (status, told) == (200, ""))
    await farm.wrote_again()
    well = time.monotonic() - emptied
    if disk == FILES:
        assert await farm.put_book(f"round{number}") == 200
    print(
        f"| {number} | {'the files' if disk == FILES else 'the database'} | {emptied - full:.1f} s"
        f" | {told:.1f} s | {farm.fleet.lines.refused - refused:,} | {writes} | {well:.1f} s"
        f" | {farm.restarts - restarts} |"
    )


async def prove(wanted: Wanted, folder: Path) -> int:
    """First the server's own database and its files, then an external one."""
    chance, told = random.Random(wanted.seed), Progress(wanted.rounds, "full disks")
    last_own = wanted.rounds - wanted.rounds // 3
    own = [(number, FILES if number % 2 else DATABASE) for number in range(1, last_own + 1)]
    other = [(number, DATABASE) for number in range(last_own + 1, wanted.rounds + 1)]
    for external, rounds in enumerate((own, other)):
        place = folder / str(external)
        place.mkdir()
        print(f"\n{('Its own database', 'An external database')[external]}:\n\n{HEAD}")
        if not await play_all(place, bool(external), rounds, wanted.workers, chance, told):
            return 1
    return 0


async def play_all(
    folder: Path,
    external: bool,
    rounds: list[tuple[int, str]],
    workers: int,
    chance: random.Random,
    told: Progress,
) -> bool:
    """Rounds on one farm; whether the books balance after them."""
    async with farm_on_small_disks(folder, runs=RUNS, external=external) as farm:
        async with farm.fleet.at_work(workers):
            for number, disk in rounds:
                await play(farm, number, disk, chance)
                told.tell(number, f"{farm.fleet.lines.calls:,} calls")
        audit = await farm.audit()
    ledger, lines = farm.fleet.ledger, farm.fleet.lines
    print(
        f"\n{lines.calls:,} calls of {workers} workers with every fault;"
        f" {ledger.acknowledged_games():,} games acknowledged, {audit.games:,} in the rows, in"
        f" {audit.tasks:,} tasks; disagreements of rows and ledger: {len(audit.wrong)}."
    )
    for word in audit.wrong[:20]:
        print(word, file=sys.stderr)
    return not audit.wrong


def main() -> int:
    wanted, began = arguments(), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        code = asyncio.run(prove(wanted, Path(folder)))
    print(f"\n{time.monotonic() - began:.0f} s")
    return code


if __name__ == "__main__":
    sys.exit(main())
