"""Ten thousand workers of two thousand users come back within a minute of a cold start.

    scripts/prove reconnect [--workers N] [--others N] [--users N] [--seconds N] [--wrong N]

The server and its PostgreSQL are killed under them and started anew, twice: once they come back
undisturbed, once while strangers try wrong passwords from ever other addresses, a hundred a second.
Other workers, which only beat, are looked at beside: before, meanwhile, and afterwards. Holds if
the ledger is exact, nobody is told that the server is busy, and no password of theirs is hashed.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import uvloop
from tests.fleet.arrivals import evenly
from tests.fleet.crowd import CheapWorker, Crowd, Mix
from tests.fleet.figures import Figures, lag_line, table
from tests.fleet.lines import OwnLines
from tests.fleet.stage import Stage, come_first, staged
from tests.fleet.watch import ending, say, stop_collecting

ARRIVAL_SECONDS = 120.0
OTHERS_BEAT = 10.0
"""Seconds between their beats, so that there are enough of them to compare."""
STRANGERS = 10_000_000
"""The first of the strangers' numbers, for addresses of their own."""
TROUBLES = ("busy", "503", "error", "lost")


@dataclass(frozen=True, slots=True)
class Wanted:
    workers: int
    others: int
    users: int
    seconds: float
    wrong: float


def arguments() -> Wanted:
    parser = argparse.ArgumentParser(prog="scripts/prove reconnect", description=__doc__)
    parser.add_argument("--workers", type=int, default=10_000)
    parser.add_argument("--others", type=int, default=1_000)
    parser.add_argument("--users", type=int, default=2_000)
    parser.add_argument("--seconds", type=float, default=60.0, help="in which all come back")
    parser.add_argument("--wrong", type=float, default=100.0, help="wrong passwords a second")
    return Wanted(**vars(parser.parse_args()))


@dataclass(frozen=True, slots=True)
class Period:
    """One stretch of time: what each group was answered, and how many passwords were hashed."""

    name: str
    returning: Figures
    others: Figures
    hashes: int
    tried: int
    server: float
    """Of a core."""


class Scene:
    """Two groups of workers on one server, and strangers."""

    def __init__(self, stage: Stage, wanted: Wanted) -> None:
        self._stage = stage
        self._wanted = wanted
        self.lines = [OwnLines(stage.port) for _ in range(3)]
        beats = Mix(beat=OTHERS_BEAT, report=1e9, ask=1e9)
        self.returning = Crowd(self.lines[0], stage.ledger, Figures(), Mix())
        self.others = Crowd(self.lines[1], stage.ledger, Figures(), beats)
        every = list(stage.workers(wanted.workers + wanted.others))
        self._returning, self._others = every[: wanted.workers], every[wanted.workers :]
        self._strangers = [
            CheapWorker(STRANGERS + each, f"crowd{each % (2 * wanted.users)}", f"wrong {each}")
            for each in range(int(wanted.wrong * wanted.seconds))
        ]
        stop_collecting()

    async def arrive(self, seconds: float) -> None:
        """For the first time, when every password has to be hashed once."""
        for crowd, workers in ((self.returning, self._returning), (self.others, self._others)):
            crowd.return_all(workers, evenly(len(workers), seconds).moments())
        await asyncio.sleep(seconds + 2 * OTHERS_BEAT)

    async def restart(self) -> float:
        """A cold start; how long nobody was answered."""
        await asyncio.gather(self.returning.stop(), self.others.stop())
        took = await self._stage.restart()
        for lines in self.lines:
            lines.move(self._stage.port)
        return took

    async def look(self, name: str, *, back: bool, wrong: bool = False) -> Period:
        """One stretch, in which all come back, or go on as they were."""
        wanted = self._wanted
        for crowd in (self.returning, self.others):
            crowd.figures = Figures(10 * wanted.seconds)
            crowd.figures.began = time.monotonic()
        if back:
            moments = evenly(wanted.workers, wanted.seconds).moments()
            self.returning.return_all(self._returning, moments)
            self.others.resume(self._others)
        hashes, usage = await self._stage.hashes(), await asyncio.to_thread(self._stage.usage)
        tries = await self._try_wrong() if wrong else await asyncio.sleep(wanted.seconds, 0)
        after = await asyncio.to_thread(self._stage.usage)
        return Period(
            name,
            self.returning.figures,
            self.others.figures,
            await self._stage.hashes() - hashes,
            tries,
            (after.server_cpu - usage.server_cpu) / wanted.seconds,
        )

    async def _try_wrong(self) -> int:
        """Half of them as version requests, half as task requests; names that exist and do not."""
        strangers = self._strangers
        crowds = [Crowd(self.lines[2], self._stage.ledger, Figures(), Mix()) for _ in range(2)]
        await asyncio.gather(
            crowds[0].call_only(strangers[::2], "request_version", self._wanted.wrong / 2),
            crowds[1].call_only(strangers[1::2], "request_task", self._wanted.wrong / 2),
        )
        return len(strangers)


async def prove(wanted: Wanted, folder: Path, *, first: bool) -> int:
    async with staged(folder / "data", users=wanted.users, runs=40) as stage:
        scene = Scene(stage, wanted)
        await scene.arrive(ARRIVAL_SECONDS)
        periods = [await scene.look("quiet", back=False)]
        away = [await scene.restart()]
        periods.append(await scene.look("all come back", back=True))
        periods.append(await scene.look("quiet again", back=False))
        away.append(await scene.restart())
        periods.append(await scene.look("with wrong passwords", back=True, wrong=True))
        periods.append(await scene.look("quiet in the end", back=False))
        await asyncio.gather(scene.returning.stop(), scene.others.stop())
        stage.campaign.fleet.lines.close()
        say(report(wanted, periods, away, first=first))
        dead = await stage.campaign.dead_tasks()
        audit = await stage.campaign.audit()
        say([f"Dead tasks: {dead}.", *ending(scene.returning, audit)])
    refused = sum(
        figures.total(what)
        for period in periods
        for figures in (period.returning, period.others)
        for what in TROUBLES
    )
    hashed = sum(max(0, period.hashes - period.tried) for period in periods)
    return 1 if audit.wrong or dead or refused or hashed else 0


def report(
    wanted: Wanted, periods: list[Period], away: list[float], *, first: bool
) -> Iterator[str]:
    yield (
        f"{wanted.workers:,} workers of {wanted.users:,} users back within {wanted.seconds:.0f} s"
        f" of a cold start, beside {wanted.others:,} others that beat every {OTHERS_BEAT:.0f} s;"
        f" {'before' if first else 'beside'} whatever else runs on the machine."
        f" The server was away for {away[0]:.1f} and {away[1]:.1f} s."
    )
    yield ""
    yield "| the others' beats | p50 ms | p99 ms | max ms | server CPU | hashed | wrong tries |"
    yield "|---|---|---|---|---|---|---|"
    for period in periods:
        row = period.others.of("beat", period.others.chosen())
        yield (
            f"| {period.name} | {1000 * row.p50:.1f} | {1000 * row.p99:.1f}"
            f" | {1000 * row.longest:.0f} | {period.server:.0%} | {period.hashes:,}"
            f" | {period.tried:,} |"
        )
    for period in periods:
        if "quiet" not in period.name:
            yield f"\nThose who come back, {period.name}:\n"
            yield from table(period.returning, period.returning.chosen(), wanted.seconds)
            lags = [*period.returning.chosen(), *period.others.chosen()]
            yield lag_line(lags).replace("minutes", "stretches")


def main() -> int:
    first = come_first()
    with tempfile.TemporaryDirectory() as folder:
        return uvloop.run(prove(arguments(), Path(folder), first=first))


if __name__ == "__main__":
    sys.exit(main())
