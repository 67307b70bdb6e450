"""Kills PostgreSQL under a fleet and promotes its standby: nothing acknowledged is lost.

    scripts/prove promotion [--promotions N] [--workers N] [--seed N] [--asynchronous]

Two Rookery servers with an address of two hosts serve throughout, a primary and one that stands by,
and the fleet calls both. Before most kills the standby of the database hears nothing for a moment,
so that the primary dies with commits that the standby never gets. After every promotion, while all
go on, the rows of the new primary are held against the ledger of what was acknowledged; after every
fifth, and in the end, with everybody at rest, also what each of the two servers shows.
With --asynchronous no commit waits for the standby: the books then need not balance, which shows
what the proof is able to see.
"""

import asyncio
import random
import statistics
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import asyncpg

from scripts.progress import Progress
from scripts.proof import read_options, run_timed, tell_findings
from tests.faults.serving import end_servers, made_account, start_server, wait_for_port
from tests.faults.several_servers import SpreadConnections
from tests.faults.standby import Pair, standby_pair
from tests.fleet.audit import Audit
from tests.fleet.fleet import SimulatedFleet
from tests.fleet.moments import Acknowledged, Sent, find_wrong, read_rows
from tests.rookery_process import SIMULATED, RookeryProcess

PART = 5
RUNS = 6
CUTS = (0.0, 0.3, 1.0)
"""How long the standby receives nothing before the kill, in seconds."""


@dataclass(frozen=True, slots=True)
class Wanted:
    promotions: int = 20
    workers: int = 40
    seed: int = 1
    asynchronous: bool = False


@dataclass(slots=True)
class Times:
    """The seconds from each kill until the promotion, and until a report was acknowledged again."""

    promoted: list[float] = field(default_factory=list)
    serving: list[float] = field(default_factory=list)


@dataclass(slots=True)
class TwoServers:
    """A primary and a secondary, and the fleet that calls both."""

    pair: Pair
    fleet: SimulatedFleet
    lines: SpreadConnections
    servers: list[RookeryProcess]
    compared: int = 0
    """The number of promotions after which the rows were compared with the ledger."""

    async def wait_until_writing(self) -> None:
        """Waits until the next report is acknowledged by the present primary."""
        await self.fleet.wrote_again(lambda: all(s.process.poll() is None for s in self.servers))

    async def compare(self) -> list[str]:
        """Compares the rows with the ledger while all are active; returns the errors."""
        connection = await asyncpg.connect(**self.pair.connect_args)
        try:
            before = Acknowledged.of(self.fleet.ledger)
            rows = await read_rows(connection)
            sent = Sent.of(self.fleet.ledger)
        finally:
            await connection.close()
        self.compared += 1
        return find_wrong(rows, before, sent, self.fleet.ledger)

    async def audit(self) -> Audit:
        """Audits each server, while no worker is active."""
        found = []
        for port in self.lines.ports:
            self.lines.only = port
            found.append(await self.fleet.audit(self.pair.url))
        self.lines.only = 0
        differs = ("the servers show different things",) if found[0] != found[1] else ()
        wrong = (*found[0].wrong, *found[1].wrong, *differs)
        return replace(found[0], wrong=wrong)

    async def terms(self) -> int:
        """How often a server has become primary so far."""
        return int(str(await self.pair.ask("SELECT epoch FROM fence")))


@asynccontextmanager
async def two_servers(pair: Pair, folder: Path, seed: int) -> AsyncIterator[TwoServers]:
    settings = SIMULATED | {"ROOKERY_DATABASE_URL": pair.url}
    account = await asyncio.to_thread(made_account, folder / "account", settings=settings)
    lines = SpreadConnections(random.Random(seed))
    lines.token = account.token
    farm = TwoServers(pair, SimulatedFleet(account, lines), lines, [])
    try:
        for name in ("one", "two"):
            farm.servers.append(await start_server(folder / name, settings))
            lines.ports.append(await wait_for_port(farm.servers[-1]))
        await farm.fleet.submit(RUNS)
        yield farm
    finally:
        lines.close()
        await end_servers(farm.servers)


async def promote(
    farm: TwoServers, chance: random.Random, times: Times, *, asynchronous: bool
) -> None:
    """Promotes the standby at a random moment; then the old primary returns as the standby."""
    pair = farm.pair
    if asynchronous:
        await asyncio.to_thread(pair.primary.wait_for_standby, False)
    await asyncio.sleep(chance.uniform(0.5, 3))
    times.promoted.append(await pair.fail_over(cut_seconds=chance.choice(CUTS)))
    promoted = time.monotonic()
    await farm.wait_until_writing()
    times.serving.append(times.promoted[-1] + time.monotonic() - promoted)
    await pair.attach_standby()


async def play_part(
    farm: TwoServers, wanted: Wanted, chance: random.Random, times: Times
) -> tuple[str, ...]:
    """Makes some promotions with their own workers; returns what is wrong afterwards."""
    told = Progress(wanted.promotions, "promotions")
    async with farm.fleet.at_work(wanted.workers):
        for _ in range(min(PART, wanted.promotions - len(times.serving))):
            await promote(farm, chance, times, asynchronous=wanted.asynchronous)
            told.tell(len(times.serving), f"{farm.lines.calls:,} calls")
            if wrong := await farm.compare():
                return tuple(wrong)
    return (await farm.audit()).wrong


async def prove(wanted: Wanted, folder: Path) -> int:
    chance, times = random.Random(wanted.seed), Times()
    async with standby_pair() as pair, two_servers(pair, folder, wanted.seed) as farm:
        while len(times.serving) < wanted.promotions:
            if wrong := await play_part(farm, wanted, chance, times):
                print(f"wrong after {len(times.serving)} promotions: {len(wrong)} findings")
                tell_findings(wrong)
                return 1
        report(farm, times, await farm.audit(), await farm.terms())
    return 0


def report(farm: TwoServers, times: Times, audit: Audit, terms: int) -> None:
    ledger, lines = farm.fleet.ledger, farm.lines
    print("| seconds from the kill of the primary | least | median | most |\n|---|---|---|---|")
    for what, each in (
        ("until the standby was promoted", times.promoted),
        ("until a report was acknowledged again", times.serving),
    ):
        print(f"| {what} | {min(each):.1f} | {statistics.median(each):.1f} | {max(each):.1f} |")
    spread = f"{statistics.median(times.serving):.1f} s at the median"
    print(f"\nverdict: acknowledged again {spread} and {max(times.serving):.1f} s at worst")
    print(
        f"\n{len(times.serving)} promotions under {lines.calls:,} calls, {lines.refused:,} of them"
        f" without an answer; {ledger.forged:,} forged reports, none accepted."
        f"\n{len(ledger.entries):,} tasks heard of, {audit.tasks:,} in the rows."
        f"\n{ledger.acknowledged_games():,} games acknowledged, {audit.games:,} in the rows, each"
        " where the ledger has it or one unanswered report further; the overshoot of sequential"
        f" tests follows from {audit.replayed:,} counted reports in their order. Rows and ledger"
        f" compared after {farm.compared} promotions, what both servers show after every {PART}."
        f"\nIn {terms:,} terms one of the two Rookery servers was primary."
    )


if __name__ == "__main__":
    sys.exit(run_timed(prove, read_options(Wanted, __doc__)))
