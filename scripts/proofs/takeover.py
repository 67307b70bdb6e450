"""Strikes the primary of two and of three servers under load: another takes over, nothing is lost.

    scripts/prove takeover [--times N] [--workers N] [--seed N] [--servers N]

The primary is killed, stopped and woken, cut off from the database for a while, and asked to step
down, each so many times in an order by chance, first with two servers and then with three. Workers
of every fault call all servers, and people submit, approve, stop and purge tests through any of
them. Four times in the course of it, and in the end, the rows are held against the ledger of what
was acknowledged, and the log of actions against what people were told.
"""

import argparse
import asyncio
import random
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scripts.progress import Progress
from tests.database import running
from tests.faults.several_servers import SeveralServers, Strike, several_servers

RUNS = 6
PARTS = 4
MOST_SECONDS = 5.0
EVENTS = 25
HEAD = (
    "| servers | the primary was | times | no answer for, least / median / most, s"
    " | calls without an answer |\n|" + "---|" * 5
)


@dataclass(frozen=True, slots=True)
class Wanted:
    times: int
    workers: int
    seed: int
    servers: tuple[int, ...]


@dataclass(slots=True)
class Outcomes:
    """Of one kind of strike."""

    seconds: list[float] = field(default_factory=list)
    unanswered: int = 0


def arguments() -> Wanted:
    parser = argparse.ArgumentParser(prog="scripts/prove takeover", description=__doc__)
    parser.add_argument("--times", type=int, default=20, help="strikes of each kind")
    parser.add_argument("--workers", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--servers", type=int, nargs="+", default=(2, 3))
    parsed = parser.parse_args()
    return Wanted(parsed.times, parsed.workers, parsed.seed, tuple(parsed.servers))


async def strike_all(
    farm: SeveralServers, strikes: Sequence[Strike], told: Progress
) -> dict[Strike, Outcomes]:
    outcomes: dict[Strike, Outcomes] = defaultdict(Outcomes)
    for number, what in enumerate(strikes, 1):
        before = farm.lines.refused
        seconds = await farm.strike(what)
        outcomes[what].seconds.append(seconds)
        outcomes[what].unanswered += farm.lines.refused - before
        told.tell(number, f"{what.value}, {seconds:.1f} s without an answer")
        if seconds > MOST_SECONDS:
            tell_events(farm)
    return outcomes


def tell_events(farm: SeveralServers) -> None:
    """What the servers said last, where a takeover took too long."""
    for member in farm.members:
        for event in member.process.events()[-EVENTS:]:
            print(member.port, event, file=sys.stderr)


async def find_wrong(farm: SeveralServers) -> list[str]:
    """Asked while nobody is at work."""
    return [*(await farm.audit()).wrong, *await farm.commands.find_wrong()]


async def prove_for(count: int, wanted: Wanted, folder: Path) -> bool:
    """Whether all of it holds with so many servers."""
    strikes = [what for what in Strike for _ in range(wanted.times)]
    random.Random(wanted.seed).shuffle(strikes)
    size = max(1, -(-len(strikes) // PARTS))
    outcomes: dict[Strike, Outcomes] = defaultdict(Outcomes)
    with running(folder / "postgres") as target:
        async with several_servers(target, folder, count, runs=RUNS, seed=wanted.seed) as farm:
            for begun in range(0, len(strikes), size):
                part = strikes[begun : begun + size]
                told = Progress(len(part), f"strikes from {begun}, {count} servers")
                async with farm.at_work(wanted.workers):
                    for what, each in (await strike_all(farm, part, told)).items():
                        outcomes[what].seconds += each.seconds
                        outcomes[what].unanswered += each.unanswered
                if wrong := await find_wrong(farm):
                    print("\n".join(wrong[:20]))
                    return False
            report(count, farm, outcomes)
            await report_books(farm)
    return all(max(each.seconds) < MOST_SECONDS for each in outcomes.values())


def report(count: int, farm: SeveralServers, outcomes: dict[Strike, Outcomes]) -> None:
    for what, each in sorted(outcomes.items(), key=lambda item: item[0].value):
        spread = (min(each.seconds), statistics.median(each.seconds), max(each.seconds))
        shown = " / ".join(f"{seconds:.1f}" for seconds in spread)
        print(f"| {count} | {what.value} | {len(each.seconds)} | {shown} | {each.unanswered:,} |")


async def report_books(farm: SeveralServers) -> None:
    audit, ledger, sent = await farm.audit(), farm.fleet.ledger, farm.commands.sent
    done = sum(each.is_done for each in sent)
    print(
        f"\n{farm.lines.calls:,} calls, {farm.lines.refused:,} without an answer."
        f" {ledger.acknowledged_games():,} games acknowledged, {audit.games:,} in the rows, each"
        f" where the ledger has it or one unanswered report further; {audit.tasks:,} tasks, none"
        f" given twice; {ledger.forged:,} forged reports, none accepted. {len(sent):,} commands of"
        f" people, {done:,} of them done, each once (the others were refused for a reason);"
        f" {farm.repeated:,} were sent again since their server died under them, {farm.refused:,}"
        f" since it said so.\n"
    )


async def prove(wanted: Wanted, folder: Path) -> int:
    print(HEAD)
    good = True
    for count in wanted.servers:
        place = folder / str(count)
        place.mkdir()
        good = await prove_for(count, wanted, place) and good
    return 0 if good else 1


def main() -> int:
    wanted, began = arguments(), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="rt-") as folder:
        code = asyncio.run(prove(wanted, Path(folder)))
    print(f"\n{time.monotonic() - began:.0f} s")
    return code


if __name__ == "__main__":
    sys.exit(main())
