"""Ten thousand workers of two thousand users come back within a minute of a cold start.

    scripts/prove reconnect [--workers N] [--others N] [--users N] [--seconds N] [--wrong N]
        [--credentials token|password]

The server and its PostgreSQL are killed under them and started anew, twice: once they come back
undisturbed, once while strangers try wrong passwords from ever other addresses, a hundred a second.
Other workers, which only beat, are looked at beside: before, meanwhile, and afterwards. Holds if
the ledger is exact, nobody of theirs is told that the server is busy, none of their passwords is
hashed, and the others' beats stay within the bounds that are printed. For whom a password was
hashed the server logs (tests/fleet/hashing_serve.py): right ones are the workers', wrong ones the
strangers'.
"""

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import uvloop

from scripts.proof import option, read_options, run
from tests.fleet.arrivals import evenly
from tests.fleet.connections import Answer
from tests.fleet.crowd import CheapWorker, Crowd, Mix
from tests.fleet.figures import EndpointFigures, Figures, lag_line, table
from tests.fleet.hashing_serve import EVENT
from tests.fleet.lines import OwnLines
from tests.fleet.stage import CREDENTIALS, TOKEN, Stage, describe_priority, raise_priority, staged
from tests.fleet.watch import ending, say, stop_collecting

ARRIVAL_SECONDS = 120.0
OTHERS_BEAT = 10.0
"""The seconds between beats of the other workers, short enough to have many to compare."""
STRANGERS = 10_000_000
"""The first of the strangers' numbers, which give them their own addresses."""
TROUBLES = ("busy", "503", "error", "lost")
QUIET = "quiet"
REFUSED, BUSY, OTHERWISE = "wrong password", "busy", "anything else"
"""The answers that a stranger may get."""
HASHING = (sys.executable, "-m", "tests.fleet.hashing_serve")
MOST_P99 = 0.050
MOST_TIMES_QUIET = 2.0
"""The limits of the other workers' latencies while all reconnect: their p99, and their p50 relative
to the quiet minute before."""


@dataclass(frozen=True, slots=True)
class Wanted:
    workers: int = 10_000
    others: int = 1_000
    users: int = 2_000
    seconds: float = option(60.0, "in which all come back")
    wrong: float = option(100.0, "wrong passwords a second")
    credentials: str = option(TOKEN, "what workers send", choices=CREDENTIALS)


@dataclass(frozen=True, slots=True)
class Period:
    """A period: the answers to each group, and the number of hashed passwords."""

    name: str
    returning: Figures
    others: Figures
    hashes: Counter[bool]
    """The number of hashes of right and of wrong passwords."""
    told: Counter[str]
    """The answers to strangers, with counts."""
    server: float
    """The server's share of a core."""

    @property
    def is_quiet(self) -> bool:
        return self.name.startswith(QUIET)

    @property
    def beats(self) -> EndpointFigures:
        return self.others.of("beat", self.others.chosen())


class Strangers(Crowd):
    """Strangers that try wrong passwords; their answers are counted."""

    def __init__(self, lines: OwnLines, stage: Stage) -> None:
        super().__init__(lines, stage.ledger, Figures(), Mix())
        self.told: Counter[str] = Counter()

    def _understand(self, endpoint: str, status: int, body: bytes, now: float) -> Answer | None:
        busy = status == 503 or b"busy" in body
        self.told[BUSY if busy else REFUSED if b"wrong password" in body else OTHERWISE] += 1
        return super()._understand(endpoint, status, body, now)


class Scene:
    """Two groups of workers on one server, and strangers."""

    def __init__(self, stage: Stage, wanted: Wanted, every: list[CheapWorker]) -> None:
        self._stage = stage
        self._wanted = wanted
        self.lines = [OwnLines(stage.port) for _ in range(3)]
        beats = Mix(beat=OTHERS_BEAT, report=1e9, ask=1e9)
        self.returning = Crowd(self.lines[0], stage.ledger, Figures(), Mix())
        self.others = Crowd(self.lines[1], stage.ledger, Figures(), beats)
        self._returning, self._others = every[: wanted.workers], every[wanted.workers :]
        self._strangers = [
            CheapWorker(STRANGERS + each, f"crowd{each % (2 * wanted.users)}", f"wrong {each}")
            for each in range(int(wanted.wrong * wanted.seconds))
        ]
        stop_collecting()

    async def arrive(self, seconds: float) -> None:
        """Lets all workers arrive for the first time, when every password must be hashed once."""
        for crowd, workers in ((self.returning, self._returning), (self.others, self._others)):
            crowd.return_all(workers, evenly(len(workers), seconds).moments())
        await asyncio.sleep(seconds + 2 * OTHERS_BEAT)

    async def restart(self) -> float:
        """Restarts the server from cold; returns how long nothing was answered."""
        await asyncio.gather(self.returning.stop(), self.others.stop())
        took = await self._stage.restart()
        for lines in self.lines:
            lines.move(self._stage.port)
        return took

    async def look(self, name: str, *, back: bool, wrong: bool = False) -> Period:
        """Observes a period in which all workers return, or continue as before."""
        wanted = self._wanted
        for crowd in (self.returning, self.others):
            crowd.figures = Figures(10 * wanted.seconds)
            crowd.figures.began = time.monotonic()
        if back:
            moments = evenly(wanted.workers, wanted.seconds).moments()
            self.returning.return_all(self._returning, moments)
            self.others.resume(self._others)
        hashes = await asyncio.to_thread(self._count_hashes)
        usage = await asyncio.to_thread(self._stage.usage)
        told: Counter[str] = Counter()
        if wrong:
            told = await self._try_wrong()
        else:
            await asyncio.sleep(wanted.seconds)
        after = await asyncio.to_thread(self._stage.usage)
        return Period(
            name,
            self.returning.figures,
            self.others.figures,
            await asyncio.to_thread(self._count_hashes) - hashes,
            told,
            (after.server_cpu - usage.server_cpu) / wanted.seconds,
        )

    def _count_hashes(self) -> Counter[bool]:
        """The number of hashes of right and wrong passwords since the server started."""
        server = self._stage.campaign.server
        assert server is not None
        hashed = (event for event in server.events() if event["event"] == EVENT)
        return Counter(bool(event["right"]) for event in hashed)

    async def _try_wrong(self) -> Counter[str]:
        """Tries wrong passwords, half as version requests and half as task requests, with names
        that exist and names that do not."""
        strangers = self._strangers
        crowds = [Strangers(self.lines[2], self._stage) for _ in range(2)]
        await asyncio.gather(
            crowds[0].call_only(strangers[::2], "request_version", self._wanted.wrong / 2),
            crowds[1].call_only(strangers[1::2], "request_task", self._wanted.wrong / 2),
        )
        return crowds[0].told + crowds[1].told


async def prove(wanted: Wanted, folder: Path) -> int:
    async with staged(
        folder / "data",
        users=wanted.users,
        runs=40,
        command=HASHING,
        credentials=wanted.credentials,
    ) as stage:
        scene = Scene(stage, wanted, await stage.workers(wanted.workers + wanted.others))
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
        say(report(wanted, periods, away))
        dead = await stage.campaign.dead_tasks()
        audit = await stage.campaign.audit()
        say([f"Dead tasks: {dead}.", *ending(scene.returning, audit)])
    refused = sum(
        figures.total(what)
        for period in periods
        for figures in (period.returning, period.others)
        for what in TROUBLES
    )
    beyond = find_beyond(periods)
    say([*beyond, "Within the bounds." if not beyond else ""])
    return 1 if audit.wrong or dead or refused or beyond else 0


def find_beyond(periods: list[Period]) -> list[str]:
    """Sentences about what exceeds the limits."""
    quiet, beyond = periods[0].beats.p50, list[str]()
    for period in periods:
        beats, lags = period.beats, [*period.returning.chosen(), *period.others.chosen()]
        if period.hashes[True]:
            beyond.append(f"{period.name}: {period.hashes[True]} passwords of workers were hashed")
        if period.told[OTHERWISE]:
            beyond.append(f"{period.name}: {period.told[OTHERWISE]} strangers were told otherwise")
        if period.is_quiet:
            continue
        if any(each.is_void for each in lags):
            beyond.append(f"{period.name}: void, the generator lagged")
        if beats.p99 > MOST_P99:
            beyond.append(f"{period.name}: p99 of the others' beats {1000 * beats.p99:.1f} ms")
        if beats.p50 > MOST_TIMES_QUIET * quiet:
            beyond.append(f"{period.name}: p50 of the others' beats {1000 * beats.p50:.1f} ms")
    return beyond


def report(wanted: Wanted, periods: list[Period], away: list[float]) -> Iterator[str]:
    yield (
        f"{wanted.workers:,} workers of {wanted.users:,} users, with {wanted.credentials}s,"
        f" back within {wanted.seconds:.0f} s"
        f" of a cold start, beside {wanted.others:,} others that beat every {OTHERS_BEAT:.0f} s;"
        f" {describe_priority()} whatever else runs on the machine."
        f" The server was away for {away[0]:.1f} and {away[1]:.1f} s."
    )
    yield ""
    yield (
        f"Bounds of the others' beats while all come back: p99 at most {1000 * MOST_P99:.0f} ms,"
        f" p50 at most {MOST_TIMES_QUIET:.0f} times that of the first row; and no password of a"
        " worker is hashed in any row."
    )
    yield ""
    yield (
        "| the others' beats | p50 ms | p99 ms | max ms | server CPU | workers' passwords hashed"
        " | strangers' hashed | strangers told: wrong | told: busy | wrong tries |"
    )
    yield "|---" * 10 + "|"
    for period in periods:
        row, told = period.beats, period.told
        yield (
            f"| {period.name} | {1000 * row.p50:.1f} | {1000 * row.p99:.1f}"
            f" | {1000 * row.longest:.0f} | {period.server:.0%} | {period.hashes[True]:,}"
            f" | {period.hashes[False]:,} | {told[REFUSED]:,} | {told[BUSY]:,}"
            f" | {told.total():,} |"
        )
    for period in periods:
        if not period.is_quiet:
            yield f"\nThose who come back, {period.name}:\n"
            yield from table(period.returning, period.returning.chosen(), wanted.seconds)
            lags = [*period.returning.chosen(), *period.others.chosen()]
            yield lag_line(lags).replace("minutes", "stretches")


if __name__ == "__main__":
    raise_priority()
    sys.exit(run(prove, read_options(Wanted, __doc__), on=uvloop.run))
