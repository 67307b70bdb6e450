"""A hundred thousand workers on one server beside its PostgreSQL, and how many more it could take.

    scripts/prove crowd [--workers N] [--ramp SECONDS] [--steady SECONDS] [--steps N] [--faster N]

They arrive one after the other, call as often as real ones for a while (about 1,300 times a second
at the mix of the mission), and then faster and faster, until an answer in a hundred takes too long,
somebody is refused, or the generator can't keep up. Calls come over the lines of a proxy. Holds if
the ledger is exact, nobody was refused before that and the server took half a core at the most.
"""

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import uvloop
from tests.fleet.arrivals import evenly
from tests.fleet.crowd import Crowd, Mix
from tests.fleet.figures import ENDPOINTS, Figures, Minute, lag_line, table
from tests.fleet.lines import SharedLines
from tests.fleet.stage import come_first, staged
from tests.fleet.watch import Watch, cost_table, ending, minute_table, say

STEP_SECONDS = 15.0
"""A period of the table."""
CHANCES = 2
"""Periods of which one has to be clean: others work on the machine, too."""
FASTER = 1.25
CLEAN_SECONDS = 0.100
ALONE_CALLS = 5_000
MOST_CORES = 0.5
TROUBLES = ("busy", "503", "error", "lost")


@dataclass(frozen=True, slots=True)
class Wanted:
    workers: int
    ramp: float
    steady: float
    steps: int
    faster: float
    users: int
    runs: int
    lines: int


def arguments() -> Wanted:
    parser = argparse.ArgumentParser(prog="scripts/prove crowd", description=__doc__)
    parser.add_argument("--workers", type=int, default=100_000)
    parser.add_argument("--ramp", type=float, default=360.0, help="seconds until all are there")
    parser.add_argument("--steady", type=float, default=180.0, help="seconds at the mix")
    parser.add_argument("--steps", type=int, default=8, help="times that everybody hastens")
    parser.add_argument("--faster", type=float, default=1.0, help="fewer, busier workers in a try")
    parser.add_argument("--users", type=int, default=2_000)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--lines", type=int, default=128)
    return Wanted(**vars(parser.parse_args()))


def is_clean(minute: Minute, figures: Figures) -> bool:
    """Everybody answered in time, and every call made when it was due."""
    if minute.is_void or any(minute.counts[name, what] for name in ENDPOINTS for what in TROUBLES):
        return False
    return all(figures.of(name, [minute]).p99 < CLEAN_SECONDS for name in ENDPOINTS)


async def climb(watch: Watch, steps: int) -> list[tuple[bool, int]]:
    """Faster and faster; whether each step was clean, and which period of the table tells of it.
    The period in which everybody hastens is not looked at."""
    found: list[tuple[bool, int]] = []
    for _ in range(steps):
        watch.crowd.hasten(FASTER)
        await watch.last(1)
        for _ in range(CHANCES):
            await watch.last(1)
            period = len(watch.looks) - 2
            found.append((is_clean(watch.figures.minutes[period], watch.figures), period))
            if found[-1][0]:
                break
        else:
            return found
    return found


async def prove(wanted: Wanted, folder: Path, *, first: bool) -> int:
    async with staged(folder / "data", users=wanted.users, runs=wanted.runs) as stage:
        lines = SharedLines(stage.port, wanted.lines)
        figures = Figures(STEP_SECONDS)
        crowd = Crowd(lines, stage.ledger, figures, Mix().faster(wanted.faster))
        watch = Watch(stage, crowd, STEP_SECONDS)
        await watch.begin(evenly(wanted.workers, wanted.ramp))
        await watch.last(1 + int(wanted.ramp / STEP_SECONDS))
        began = len(watch.looks) - 1
        await watch.last(int(wanted.steady / STEP_SECONDS))
        ended = len(watch.looks) - 1
        steps = await climb(watch, wanted.steps)
        await watch.end()
        dead = await stage.campaign.dead_tasks()
        say(report(wanted, watch, began, ended, dead, first=first))
        say(limit(watch, steps))
        say(line.replace("| minute |", "| 15 s |") for line in minute_table(watch))
        rate = Mix().faster(wanted.faster).calls * wanted.workers / len(ENDPOINTS)
        say(cost_table(await watch.costs(rate, ALONE_CALLS), rate))
        lines.close()
        audit = await stage.campaign.audit()
        say(ending(crowd, audit))
    steady = figures.chosen(began, ended)
    refused = sum(
        minute.counts[name, what] for minute in steady for name in ENDPOINTS for what in TROUBLES
    )
    share = watch.spent(began, ended)[0]
    void = not figures.sound(began, ended)
    return 1 if audit.wrong or dead or refused or void or share > MOST_CORES else 0


def report(
    wanted: Wanted, watch: Watch, began: int, ended: int, dead: int, *, first: bool
) -> Iterator[str]:
    figures = watch.figures
    chosen, sound = figures.chosen(began, ended), figures.sound(began, ended)
    server, postgres, generator = watch.spent(began, ended)
    calls = sum(minute.calls for minute in chosen)
    seconds = (ended - began) * STEP_SECONDS
    yield (
        f"{watch.crowd.at_work:,} workers of {wanted.users:,} users, {wanted.runs} runs, after"
        f" {wanted.ramp:.0f} s in which they came: {seconds:.0f} s at {calls / seconds:,.0f} calls"
        f" a second over {wanted.lines} lines;"
        f" {'before' if first else 'beside'} whatever else runs on the machine."
    )
    yield (
        f"Of a core: server {server:.2f}, PostgreSQL {postgres:.2f}, generator {generator:.2f};"
        f" {1000 * server * seconds / max(1, calls):.3f} and"
        f" {1000 * postgres * seconds / max(1, calls):.3f} ms a call. Dead tasks: {dead}."
    )
    yield lag_line(chosen).replace("minutes", f"periods of {STEP_SECONDS:.0f} s")
    yield ""
    yield from table(figures, sound, len(sound) * STEP_SECONDS)


def limit(watch: Watch, steps: list[tuple[bool, int]]) -> Iterator[str]:
    """How far it went, and who had no more of the processor to give."""
    yield "| calls/s | clean | slowest p99 ms | server | PostgreSQL | generator | of two cores |"
    yield "|---|---|---|---|---|---|---|"
    for clean, period in steps:
        minute, shares = watch.figures.minutes[period], watch.spent(period, period + 1)
        slowest = max(watch.figures.of(name, [minute]).p99 for name in ENDPOINTS)
        troubles = Counter(
            {what: sum(minute.counts[name, what] for name in ENDPOINTS) for what in TROUBLES}
        )
        why = [f"{count} {what}" for what, count in troubles.items() if count]
        why += ["the generator lagged"] if minute.is_void else []
        yield (
            f"| {minute.calls / STEP_SECONDS:,.0f} | {'yes' if clean else ', '.join(('no', *why))}"
            f" | {1000 * slowest:.0f} | {shares[0]:.0%} | {shares[1]:.0%} | {shares[2]:.0%}"
            f" | {sum(shares) / 2:.0%} |"
        )


def main() -> int:
    first = come_first()
    with tempfile.TemporaryDirectory() as folder:
        return uvloop.run(prove(arguments(), Path(folder), first=first))


if __name__ == "__main__":
    sys.exit(main())
