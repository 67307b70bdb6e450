"""Fills the disk of the database, or that of the files, under load, and makes room again.

    scripts/prove full-disk [--rounds N] [--workers N] [--seed N]

Both disks are small and of their own; a third of the rounds fills the disk of an external database,
of which the server knows nothing before a write fails. In each round one of them is filled to the
last byte at a random moment, stays so for a while, and is emptied. While the database has no space,
/readyz and a page say so in words that a person understands, which are printed, and a worker is
refused with a 503 that is no JSON, so that it tries again; while the files have none, a page says
so, uploads are refused and everything else goes on. A server that ends for want of space is started
again, as its service manager would. In the end the rows are held against the ledger.
"""

import asyncio
import html
import json
import random
import re
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from rookery.server.disk import FAILED_SECONDS, SETTLED_SECONDS
from scripts.progress import Progress
from scripts.proof import read_options, run_timed, tell_findings
from tests.faults.small_disks import DATABASE, FILES, SmallDiskFarm, farm_on_small_disks

RUNS = 6
HEAD = (
    "| round | disk | full for | told after | a page told it | a worker was told"
    " | calls without an answer | writes meanwhile | all well after | restarts |\n|" + "---|" * 10
)
TOLD = re.compile(r'<p class="note error" role="status">(.*?)</p>', re.DOTALL)
DIGITS = re.compile(r"\d+")
MOST_SECONDS = 30.0
"""The time within which people and workers must have been told, and within which all must be well
after space was freed."""


@dataclass(frozen=True, slots=True)
class Wanted:
    rounds: int = 12
    workers: int = 20
    seed: int = 1


async def expect_told(farm: SmallDiskFarm, disk: str) -> None:
    """Waits until /readyz tells of the full disk; if it is that of the files, checks that uploads
    are refused."""
    if disk == FILES:
        await farm.until(lambda status, told: status == 200 and "disk of the files" in told)
        assert await farm.put_book("refused") == 503
        return
    await farm.until(lambda status, told: status == 503 and told.startswith("disk full"))


def sentence_in(page: str) -> str:
    """The sentence about the disk that a page shows."""
    found = TOLD.search(page)
    return " ".join(html.unescape(found[1]).split()) if found else ""


@dataclass(slots=True)
class Told:
    """The messages that people and workers got, with counts, without figures."""

    people: Counter[str]
    workers: Counter[str]

    async def expect_page(self, farm: SmallDiskFarm, words: str) -> None:
        """Waits until a page shows the message, also on a server that is about to be restarted."""
        deadline = time.monotonic() + MOST_SECONDS
        while words not in (told := sentence_in((await farm.call("GET", "/login"))[1])):
            assert time.monotonic() < deadline, f"a page tells {told!r}"
            await asyncio.sleep(0.1)
        self.people[DIGITS.sub("N", told)] += 1

    async def expect_refusal(self, farm: SmallDiskFarm) -> None:
        """Waits until a worker is told to try again, by an answer that is no JSON. Until then it
        may still get a task, since PostgreSQL has some space left."""
        deadline = time.monotonic() + MOST_SECONDS
        while (answer := await farm.ask_for_a_task())[0] != 503:
            assert answer[0] in (0, 200), answer
            assert time.monotonic() < deadline, "workers are not refused"
            await asyncio.sleep(0.1)
        assert "disk is full" in answer[1], answer
        try:
            json.loads(answer[1])
        except ValueError:
            self.workers[answer[1].partition("(request")[0].strip()] += 1
        else:
            raise AssertionError(f"a worker would take this for a verdict: {answer[1]}")

    async def expect(self, farm: SmallDiskFarm, disk: str) -> tuple[str, str]:
        """Checks and returns what people and workers are told while the disk is full."""
        if disk == FILES:
            await self.expect_page(farm, "disk of the files")
            await farm.fleet.wrote_again()
            return "tasks as ever", "yes"
        await self.expect_page(farm, "disk full")
        await self.expect_refusal(farm)
        return "503, no JSON", "no"


async def play(
    farm: SmallDiskFarm, number: int, disk: str, chance: random.Random, said: Told
) -> None:
    await asyncio.sleep(chance.uniform(0.5, 3))
    held, refused, restarts = chance.uniform(1, 12), farm.fleet.lines.refused, farm.restarts
    await farm.fill(disk)
    full = time.monotonic()
    await expect_told(farm, disk)
    told = time.monotonic() - full
    await asyncio.sleep(held)
    worker, writes = await said.expect(farm, disk)
    await farm.empty(disk)
    emptied = time.monotonic()
    await farm.until(lambda status, told: (status, told) == (200, ""))
    await farm.fleet.wrote_again()
    well = time.monotonic() - emptied
    assert well < MOST_SECONDS, well
    if disk == FILES:
        assert await farm.put_book(f"round{number}") == 200
    print(
        f"| {number} | {'the files' if disk == FILES else 'the database'} | {emptied - full:.1f} s"
        f" | {told:.1f} s | yes | {worker} | {farm.fleet.lines.refused - refused:,} | {writes}"
        f" | {well:.1f} s | {farm.restarts - restarts} |"
    )


async def prove(wanted: Wanted, folder: Path) -> int:
    """Tries the server's own database and files first, then an external database."""
    chance, told = random.Random(wanted.seed), Progress(wanted.rounds, "full disks")
    said = Told(Counter(), Counter())
    last_own = wanted.rounds - wanted.rounds // 3
    own = [(number, FILES if number % 2 else DATABASE) for number in range(1, last_own + 1)]
    other = [(number, DATABASE) for number in range(last_own + 1, wanted.rounds + 1)]
    for external, rounds in enumerate((own, other)):
        place = folder / str(external)
        place.mkdir()
        print(f"\n{('Its own database', 'An external database')[external]}:\n\n{HEAD}")
        if not await play_all(place, bool(external), rounds, wanted.workers, chance, told, said):
            return 1
    for who, sentences in (("a person", said.people), ("a worker", said.workers)):
        print(f"\nWhat {who} read (N for a figure):\n")
        print("\n".join(f"- {times} times: {words}" for words, times in sentences.items()))
    print(
        "\nSpace on the server's own disk is seen at once. On that of an external database it shows"
        f" by a commit that succeeds: the last failure counts for {SETTLED_SECONDS:.0f} s more, and"
        f" for {FAILED_SECONDS:.0f} s where nothing is written."
    )
    return 0


async def play_all(
    folder: Path,
    external: bool,
    rounds: list[tuple[int, str]],
    workers: int,
    chance: random.Random,
    told: Progress,
    said: Told,
) -> bool:
    """Plays rounds on one farm; returns whether the books balance afterwards."""
    async with farm_on_small_disks(folder, runs=RUNS, external=external) as farm:
        async with farm.fleet.at_work(workers):
            for number, disk in rounds:
                await play(farm, number, disk, chance, said)
                told.tell(number, f"{farm.fleet.lines.calls:,} calls")
        audit = await farm.audit()
    ledger, lines = farm.fleet.ledger, farm.fleet.lines
    print(
        f"\n{lines.calls:,} calls of {workers} workers with every fault;"
        f" {ledger.acknowledged_games():,} games acknowledged, {audit.games:,} in the rows, in"
        f" {audit.tasks:,} tasks; disagreements of rows and ledger: {len(audit.wrong)}."
    )
    tell_findings(audit.wrong)
    return not audit.wrong


if __name__ == "__main__":
    sys.exit(run_timed(prove, read_options(Wanted, __doc__)))
