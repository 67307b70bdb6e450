"""A hundred thousand workers on one server beside its PostgreSQL, and how many more it could take.

    scripts/prove crowd [--workers N] [--ramp SECONDS] [--steady SECONDS] [--steps N] [--faster N]
        [--credentials token|password]

They arrive one after the other, call as often as real ones for a while (about 1,300 times a second
at the mix of the mission), and then faster and faster, until an answer in a hundred takes too long,
somebody is refused, or the generator can't keep up. Calls come over the lines of a proxy. Holds if
the ledger is exact, nobody was refused before that and the server took half a core at the most.
"""

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import uvloop

from scripts.proof import option, read_options, run
from tests.fleet.arrivals import evenly
from tests.fleet.crowd import Crowd, Mix
from tests.fleet.figures import ENDPOINTS, Figures, Minute, lag_line, table
from tests.fleet.lines import SharedLines
from tests.fleet.stage import CREDENTIALS, TOKEN, describe_priority, raise_priority, staged
from tests.fleet.watch import Watch, ending, minute_table, say

STEP_SECONDS = 15.0
"""The length of a period of the table."""
CHANCES = 2
"""The number of periods per step of which one must be clean, since other programs run on the
machine, too."""
FASTER = 1.25
CLEAN_SECONDS = 0.100
MOST_CORES = 0.5
TROUBLES = ("busy", "503", "error", "lost")


@dataclass(frozen=True, slots=True)
class Wanted:
    workers: int = 100_000
    ramp: float = option(360.0, "seconds until all are there")
    steady: float = option(180.0, "seconds at the mix")
    steps: int = option(8, "times that everybody hastens")
    faster: float = option(1.0, "fewer, busier workers in a try")
    users: int = 2_000
    runs: int = 100
    lines: int = option(1_024, "connections of the proxy at the most")
    credentials: str = option(TOKEN, "what workers send", choices=CREDENTIALS)


def is_clean(minute: Minute, figures: Figures) -> bool:
    """Whether all calls were answered in time and made when they were due."""
    if minute.is_void or any(minute.counts[name, what] for name in ENDPOINTS for what in TROUBLES):
        return False
    return all(figures.of(name, [minute]).p99 < CLEAN_SECONDS for name in ENDPOINTS)


async def climb(watch: Watch, steps: int) -> list[tuple[bool, int]]:
    """Raises the rate in steps; returns whether each was clean, and its period in the table. The
    period in which the rate changes is not judged."""
    found: list[tuple[bool, int]] = []
    for _ in range(steps):
        watch.crowd.multiply_rate(FASTER)
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


async def prove(wanted: Wanted, folder: Path) -> int:
    async with staged(
        folder / "data", users=wanted.users, runs=wanted.runs, credentials=wanted.credentials
    ) as stage:
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
        say(report(wanted, watch, began, ended, dead))
        say(limit(watch, steps))
        say(line.replace("| minute |", "| 15 s |") for line in minute_table(watch))
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


def report(wanted: Wanted, watch: Watch, began: int, ended: int, dead: int) -> Iterator[str]:
    figures = watch.figures
    chosen, sound = figures.chosen(began, ended), figures.sound(began, ended)
    server, postgres, generator = watch.spent(began, ended)
    calls = sum(minute.calls for minute in chosen)
    seconds = (ended - began) * STEP_SECONDS
    yield (
        f"{watch.crowd.at_work:,} workers of {wanted.users:,} users, {wanted.runs} runs,"
        f" {wanted.credentials}s, after"
        f" {wanted.ramp:.0f} s in which they came: {seconds:.0f} s at {calls / seconds:,.0f} calls"
        f" a second over at most {wanted.lines:,} connections;"
        f" {describe_priority()} whatever else runs on the machine."
    )
    yield (
        f"Of a core: server {server:.2f}, PostgreSQL {postgres:.2f}, generator {generator:.2f};"
        f" {1000 * server * seconds / max(1, calls):.3f} and"
        f" {1000 * postgres * seconds / max(1, calls):.3f} ms a call. Dead tasks: {dead}."
    )
    yield speed_line(watch, began, ended)
    yield lag_line(chosen).replace("minutes", f"periods of {STEP_SECONDS:.0f} s")
    yield ""
    yield from table(figures, sound, len(sound) * STEP_SECONDS)


def speed_line(watch: Watch, began: int, ended: int) -> str:
    """A line about the speed of the processors, which others may share: the generator's work per
    call is constant, so its time per call shows it."""
    calls = [watch.figures.minutes[period].calls for period in range(began, ended)]
    shares = [watch.spent(period, period + 1) for period in range(began, ended)]
    costs = [
        1000 * share[2] * STEP_SECONDS / max(1, n) for n, share in zip(calls, shares, strict=True)
    ]
    quick = [share[0] * min(costs) / cost for share, cost in zip(shares, costs, strict=True)]
    return (
        f"The generator's work for a call took {min(costs):.2f} to {max(costs):.2f} ms, by how"
        f" quick the machine was; at its quickest the server would have taken"
        f" {fmean(quick):.2f} of a core."
    )


def limit(watch: Watch, steps: list[tuple[bool, int]]) -> Iterator[str]:
    """Lines about the highest rate, and which process had used up its processor."""
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


if __name__ == "__main__":
    raise_priority()
    sys.exit(run(prove, read_options(Wanted, __doc__), on=uvloop.run))
