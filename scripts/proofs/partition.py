"""Cuts two and three servers and their database from one another, in every combination.

    scripts/prove partition [--servers N] [--seconds N] [--most N] [--workers N] [--seed N]

Each server, the database and the fleet have a host of their own: a network namespace, joined with
the others by a switch of ours. With two servers every set of lines is cut, those to the fleet too;
with three every set of lines between the servers and the database. Then all lines lose and delay
frames. After every cut the rows are held against the ledger of what was acknowledged, and servers
that come back are asked: no answer may be older than the rows. In the end: what a synchronous
standby costs that is 1, 5 and 20 ms away. Needs the right to make namespaces.
"""

import asyncio
import random
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from pathlib import Path

from scripts.progress import Progress
from scripts.proof import option, read_options, run_timed, tell_findings
from tests.faults.lan import Line, pairs_of
from tests.faults.partitioned import (
    CLIENTS,
    DATABASE_HOST,
    CallTimes,
    Partitioned,
    partitioned,
)
from tests.faults.standby import PORT, USER, Node

RUNS = 6
GAMES_BEFORE = 500
LOSS, DELAY_SECONDS, BAD_SECONDS = 0.02, 0.02, 30.0
STANDBY_HOST = "standby"
DISTANCES_MS = (0, 1, 5, 20)
MEASURED_SECONDS = 8.0
Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Wanted:
    servers: tuple[int, ...] = (2, 3)
    seconds: float = option(8.0, "how long lines stay cut")
    most: int = option(0, "cuts for each number of servers, chosen by chance; 0: all")
    workers: int = 40
    seed: int = 1
    quick: bool = option(False, "leave out bad lines and the standby")


def list_cuts(servers: Sequence[str]) -> list[Pairs]:
    """Every set of lines to cut, but the empty one."""
    hosts = [DATABASE_HOST, *servers, *([CLIENTS] if len(servers) == 2 else ())]
    lines = [pair for pair in pairs_of(hosts) if set(pair) != {CLIENTS, DATABASE_HOST}]
    sizes = range(1, len(lines) + 1)
    return list(chain.from_iterable(combinations(lines, size) for size in sizes))


def describe_cut(cut: Pairs, primary: str, servers: Sequence[str]) -> str:
    """What a cut means for the farm."""
    lost = {frozenset(pair) for pair in cut}

    def reaches(one: str, other: str) -> bool:
        return frozenset((one, other)) not in lost

    near = [name for name in servers if reaches(name, DATABASE_HOST)]
    heard = [name for name in servers if reaches(name, CLIENTS)]
    if not near:
        return "no server reaches the database"
    if primary not in near:
        return "the primary loses the database, another server has it"
    if not any(name == primary or reaches(name, primary) for name in heard):
        return "the primary has the database, but nobody whom the fleet reaches has the primary"
    if primary not in heard:
        return "the fleet reaches the primary only by way of another server"
    return "the primary keeps the database and the fleet"


async def cut_all(
    farm: Partitioned, cuts: Sequence[Pairs], wanted: Wanted
) -> tuple[dict[str, list[float]], list[str]]:
    """Makes all cuts; returns the silences by what the cut meant, and what is wrong."""
    found, told = defaultdict[str, list[float]](list), Progress(len(cuts), "cuts")
    names = tuple(farm.servers)
    for number, cut in enumerate(cuts, 1):
        primary, seconds = await farm.cut(cut, wanted.seconds)
        what = describe_cut(cut, primary, names)
        found[what].append(seconds)
        told.tell(number, f"{what}: {seconds:.1f} s without an answer")
        if wrong := [*await farm.compare(), *farm.questions.stale]:
            return found, wrong
    return found, []


async def play_on_bad_lines(farm: Partitioned) -> float:
    """Lets all lines delay and lose frames for a while; returns the longest silence."""
    for one, other in pairs_of(farm.net.hosts):
        farm.net.change(one, other, Line(seconds=DELAY_SECONDS, loss=LOSS))
    async with farm.fleet.listening_for_silence() as silence:
        await asyncio.sleep(BAD_SECONDS)
    farm.net.mend()
    await farm.until_all_answer()
    return silence.seconds


async def prove_for(count: int, wanted: Wanted, folder: Path) -> bool:
    """Runs the proof with `count` servers; returns whether it holds."""
    async with partitioned(folder, count, runs=RUNS, seed=wanted.seed) as farm:
        cuts = list_cuts(tuple(farm.servers))
        random.Random(wanted.seed).shuffle(cuts)
        cuts = cuts[: wanted.most or len(cuts)]
        async with farm.fleet.at_work(wanted.workers):
            await farm.fleet.wait_for_games(GAMES_BEFORE)
            found, wrong = await cut_all(farm, cuts, wanted)
            bad = None if wanted.quick or wrong else await play_on_bad_lines(farm)
        superseded = await farm.forget_superseded()
        wrong += (await farm.fleet.audit(farm.by_socket)).wrong
        print(*report(count, found, bad, farm, superseded), sep="\n")
    tell_findings(wrong)
    return not wrong


def report(
    count: int,
    found: dict[str, list[float]],
    bad: float | None,
    farm: Partitioned,
    superseded: int,
) -> Iterator[str]:
    yield f"\n{count} servers\n"
    yield "| what the cut meant | times | no answer for, least / median / most, s |\n|---|---|---|"
    for what, seconds in sorted(found.items()):
        span = " / ".join(f"{f(seconds):.1f}" for f in (min, statistics.median, max))
        yield f"| {what} | {len(seconds)} | {span} |"
    if bad is not None:
        lossy = f"{100 * LOSS:.0f} % of frames lost, {1000 * DELAY_SECONDS:.0f} ms each way"
        yield f"| {lossy}, for {BAD_SECONDS:.0f} s | 1 | {bad:.1f} |"
    ledger, asked = farm.fleet.ledger, farm.questions
    yield (
        f"\n{farm.lines.calls:,} calls, {farm.lines.refused:,} of them without an answer;"
        f" {ledger.acknowledged_games():,} games acknowledged; rows and ledger compared"
        f" {farm.compared} times; {len(asked.stale)} of {asked.asked:,} answers stale;"
        f" {farm.net.frames:,} frames. {superseded} of {len(ledger.given):,} tasks gave way to a"
        " request for work that arrived late."
    )


async def measure_standby(wanted: Wanted, folder: Path) -> None:
    """Prints what a report takes while commits wait for a standby at some distances."""
    async with partitioned(folder, 1, runs=RUNS, seed=wanted.seed, others=(STANDBY_HOST,)) as farm:
        standby = await asyncio.to_thread(make_standby, farm)
        try:
            print("\n| line to the synchronous standby | reports and tasks a second | each takes |")
            print("|---|---|---|")
            for distance in (None, *DISTANCES_MS):
                await set_distance(farm, distance)
                async with farm.fleet.at_work(wanted.workers):
                    print(await measure(farm, distance))
        finally:
            await asyncio.to_thread(standby.kill)


def make_standby(farm: Partitioned) -> Node:
    """A copy of the database that follows it over the network; blocks."""
    host, source = farm.net.hosts[STANDBY_HOST], farm.net.hosts[DATABASE_HOST]
    node = Node(farm.node.data.parent, "b", host.prefix, host.address)
    node.copy(farm.node)
    with (node.data / "postgresql.auto.conf").open("a") as settings:
        settings.write(f"primary_conninfo = 'host={source.address} port={PORT} user={USER}'\n")
    node.start()
    return node


async def set_distance(farm: Partitioned, distance: int | None) -> None:
    """Sets how far the standby is, in milliseconds each way; None: no commit waits for it."""
    farm.net.change(DATABASE_HOST, STANDBY_HOST, Line(seconds=(distance or 0) / 2000))
    await asyncio.to_thread(farm.node.wait_for_standby, distance is not None)
    if distance is not None:
        await farm.until_in_step()


async def measure(farm: Partitioned, distance: int | None) -> str:
    times = CallTimes()
    farm.lines.hearers.append(times)
    await asyncio.sleep(MEASURED_SECONDS)
    farm.lines.hearers.remove(times)
    name = "none" if distance is None else f"{distance} ms there and back"
    middle = 1000 * statistics.median(times.seconds)
    return (
        f"| {name} | {len(times.seconds) / MEASURED_SECONDS:.0f} | {middle:.1f} ms at the median |"
    )


async def prove(wanted: Wanted, folder: Path) -> int:
    for count in wanted.servers:
        if not await prove_for(count, wanted, folder / str(count)):
            return 1
    if not wanted.quick:
        await measure_standby(wanted, folder / "standby")
    return 0


if __name__ == "__main__":
    sys.exit(run_timed(prove, read_options(Wanted, __doc__)))
