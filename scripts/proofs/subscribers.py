"""Follows runs from 1,000 streams over two servers while one takes over: all hear every run's end.

    scripts/prove subscribers [--streams N] [--strikes N] [--workers N] [--seed N]

Before each strike half of the streams are at each server. Most follow one run, some all of them; a
tenth of the readers take two seconds over each event, one in fifty does not read at all for as long
as workers play, and one in twenty goes away then and comes back afterwards. The primary is killed,
stopped and woken, cut off from the database, or steps down while workers play; readers whose stream
breaks off come back to any server with the number of the last event they have seen. After each
strike there is a quiet moment. Events are told once per run however often it changed, so that what
must hold then is: every reader has been told every run that it follows by an event whose number is
not below the commit that changed the run last, as the run's row has it; so have those who were
away, by their last number alone. Numbers never go back, nor do a run's games, and none is beyond
the last commit.
"""

import asyncio
import contextlib
import json
import random
import re
import sys
import time
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path

import asyncpg

from scripts.progress import Progress
from scripts.proof import read_options, run_timed, tell_findings
from tests.database import running
from tests.faults.several_servers import SeveralServers, Strike, several_servers
from tests.fleet.worker import Pace

RUNS = 4
SLOW, OF_ALL, DEAF, LEAVING = 10, 10, 50, 20
"""Of how many readers one is slow, follows all runs, reads nothing, or leaves for a while."""
SLOW_SECONDS = 2.0
QUIET_SECONDS = 90.0
PLAY_SECONDS = 2.5
CALM = Pace(seconds=0.3)
STREAM_KB, LOAD_MB = 64, 32
"""The memory that a server may use for each stream that it may get, and for the load itself."""
ROWS = "SELECT id, sequence, wins, losses, draws, (SELECT sequence FROM commits) AS last FROM runs"
HEAD = (
    "| the primary was | no answer for | events told | readers that came back | all told after"
    " | not told | most memory of a server |\n|" + "---|" * 7
)


@dataclass(frozen=True, slots=True)
class Wanted:
    streams: int = 1000
    strikes: int = 8
    workers: int = 20
    seed: int = 1


@dataclass(frozen=True, slots=True)
class RunRow:
    """The state of a run in its row."""

    sequence: int
    score: tuple[int, int, int]


@dataclass(slots=True)
class Follower:
    """A reader of one run, or of all runs."""

    number: int
    run: str
    farm: SeveralServers
    hurry: asyncio.Event
    """Set while even slow readers read without delay."""
    events: int = 0
    returns: int = -1
    port: int = 0
    """The port of the server that it reads from."""
    first: int | None = None
    last: int | None = None
    backwards: int = 0
    """How often a number, or a run's games, went back."""
    told: dict[str, int] = field(default_factory=dict)
    shown: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    present: asyncio.Event = field(default_factory=asyncio.Event)
    _pending: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    """Events whose commit number is not known yet: it comes with the last event of a notice."""
    _line: asyncio.StreamWriter | None = None

    @property
    def leaves(self) -> bool:
        return self.number % LEAVING == 7

    async def follow(self) -> None:
        self.present.set()
        while True:
            await self.present.wait()
            ports = self.farm.lines.ports
            if ports:
                self.port = self._choose()
                self.returns += 1
                with contextlib.suppress(OSError, EOFError, ValueError):
                    await self._read(self.port)
                self.port = 0
            await asyncio.sleep(0.5 + self.number % 100 / 100)

    def go_away(self) -> None:
        self.present.clear()
        self.hang_up()

    def hang_up(self) -> None:
        """Closes the stream; the reader reconnects by itself."""
        if self._line is not None:
            self._line.close()

    @property
    def is_seated(self) -> bool:
        """Whether it is connected to its intended server."""
        return bool(self.farm.lines.ports) and self.port == self._choose()

    def _choose(self) -> int:
        ports = sorted(self.farm.lines.ports)
        return ports[(self.number // LEAVING + self.number) % len(ports)]

    async def _read(self, port: int) -> None:
        # Each reader has its own address, because streams per address are limited.
        address = f"127.1.{self.number // 250}.{self.number % 250 + 1}"
        incoming, self._line = await asyncio.open_connection(
            "127.0.0.1", port, local_addr=(address, 0)
        )
        after = "" if self.last is None else f"last-event-id: {self.last}\r\n"
        path = "/api/v1/events" + (f"?run={self.run}" if self.run else "")
        self._line.write(f"GET {path} HTTP/1.1\r\nhost: localhost\r\n{after}\r\n".encode())
        self._pending.clear()
        number: int | None = None
        try:
            while line := await incoming.readline():
                if line.startswith(b"id: "):
                    number = int(line[4:])
                elif line.startswith(b"data: {") and b'"results"' in line:
                    await self._take(json.loads(line[6:]))
                elif line == b"\n" and number is not None:
                    self._settle(number)
                    number = None
        finally:
            self._line.close()

    async def _take(self, run: dict[str, object]) -> None:
        results = run["results"]
        assert isinstance(results, dict)
        self.events += 1
        self._pending[str(run["id"])] = (results["wins"], results["losses"], results["draws"])
        if self.number % DEAF == 0:
            await self.hurry.wait()
        if self.number % SLOW == 1:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(SLOW_SECONDS):
                    await self.hurry.wait()

    def _settle(self, number: int) -> None:
        """Assigns a commit number to all events received so far."""
        self.first = number if self.first is None else self.first
        self.backwards += self.last is not None and number < self.last
        self.last = number
        for run, score in self._pending.items():
            self.backwards += sum(score) < sum(self.shown.get(run, score))
            self.told[run], self.shown[run] = number, score
        self._pending.clear()

    def find_untold(self, rows: dict[str, RunRow]) -> list[str]:
        """The runs whose latest state this reader has not been told."""
        if self.first is None:
            return ["everything"]
        wanted = [self.run] if self.run else [r for r in rows if rows[r].sequence > self.first]
        return [
            run
            for run in wanted
            if self.told.get(run, -1) < rows[run].sequence or self.shown[run] != rows[run].score
        ]


@dataclass(slots=True)
class Audience:
    """All readers, and the servers' memory."""

    farm: SeveralServers
    looking: "asyncpg.Connection[asyncpg.Record]"
    followers: list[Follower]
    hurry: asyncio.Event
    peaks: defaultdict[int, int] = field(default_factory=lambda: defaultdict(int))
    """The peak memory of each process in MB."""
    beyond: int = 0
    """How many numbers were beyond the last commit."""

    async def watch_memory(self) -> None:
        while True:
            for pid, size in (await asyncio.to_thread(read_memory, self.farm)).items():
                self.peaks[pid] = max(self.peaks[pid], size)
            await asyncio.sleep(0.5)

    async def read_rows(self) -> dict[str, RunRow]:
        rows = await self.looking.fetch(ROWS)
        last = rows[0]["last"]
        self.beyond += sum(each.last is not None and each.last > last for each in self.followers)
        return {row["id"]: RunRow(row["sequence"], tuple(row)[2:5]) for row in rows}

    async def find_late(self) -> tuple[list[Follower], float]:
        """Waits, while nothing happens, for readers to be told everything; returns those that were
        not, and the time it took."""
        began, late = time.monotonic(), self.followers
        self.hurry.set()
        while late and time.monotonic() < began + QUIET_SECONDS:
            await asyncio.sleep(0.5)
            rows = await self.read_rows()
            late = [each for each in late if each.find_untold(rows)]
        self.hurry.clear()
        return late, time.monotonic() - began

    async def spread(self) -> None:
        """Connects half of the readers to each server, continuing from their last number."""
        self.hurry.set()
        for each in self.followers:
            if not each.is_seated:
                each.hang_up()
        deadline = time.monotonic() + QUIET_SECONDS
        while not all(each.is_seated for each in self.followers):
            assert time.monotonic() < deadline, "not all readers come back"
            await asyncio.sleep(0.2)
        self.hurry.clear()

    @property
    def events(self) -> int:
        return sum(each.events for each in self.followers)

    @property
    def returns(self) -> int:
        return sum(max(0, each.returns) for each in self.followers)


def read_memory(farm: SeveralServers) -> dict[int, int]:
    """The memory of each server in MB."""
    found = {}
    for member in tuple(farm.members):
        pid = member.process.process.pid
        with contextlib.suppress(OSError):
            size = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
            found[pid] = int(size[1]) // 1024 if size else 0
    return found


async def play(audience: Audience, what: Strike, workers: int) -> int:
    """Makes one strike under load, then waits until it is quiet; returns how many readers were not
    told everything."""
    farm, leaving = audience.farm, [each for each in audience.followers if each.leaves]
    await audience.spread()
    events, returns = audience.events, audience.returns
    audience.peaks.clear()
    async with farm.at_work(workers):
        for each in leaving:
            each.go_away()
        await asyncio.sleep(PLAY_SECONDS)
        silence = await farm.strike(what)
        await asyncio.sleep(PLAY_SECONDS)
    for each in leaving:
        each.present.set()
    late, seconds = await audience.find_late()
    print(
        f"| {what.value} | {silence:.1f} s | {audience.events - events:,}"
        f" | {audience.returns - returns:,} | {seconds:.1f} s | {len(late)}"
        f" | {max(audience.peaks.values())} MB |"
    )
    return len(late)


@asynccontextmanager
async def seated(farm: SeveralServers, wanted: Wanted) -> AsyncIterator[Audience]:
    """Runs all readers for the length of the block."""
    chance, hurry = random.Random(wanted.seed), asyncio.Event()
    followers = [
        Follower(
            number,
            "" if number % OF_ALL == 5 or number % LEAVING == 7 else chance.choice(farm.fleet.runs),
            farm,
            hurry,
        )
        for number in range(wanted.streams)
    ]
    looking = await asyncpg.connect(**farm.target.connect_args)
    audience = Audience(farm, looking, followers, hurry)
    tasks = [asyncio.create_task(each.follow()) for each in followers]
    tasks.append(asyncio.create_task(audience.watch_memory()))
    try:
        hurry.set()
        deadline = time.monotonic() + QUIET_SECONDS
        while any(each.first is None for each in followers):
            assert time.monotonic() < deadline, "not all streams began"
            await asyncio.sleep(0.2)
        hurry.clear()
        yield audience
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await looking.close()


async def prove(wanted: Wanted, folder: Path) -> int:
    strikes = list(islice(cycle(Strike), wanted.strikes))
    told, late, most = Progress(len(strikes), "strikes"), 0, 0
    with running(folder / "postgres") as target:
        async with several_servers(target, folder, 2, runs=RUNS, seed=wanted.seed) as farm:
            farm.fleet.pace = CALM
            alone = max(read_memory(farm).values())
            bound = alone + LOAD_MB + STREAM_KB * wanted.streams // 1024
            async with seated(farm, wanted) as audience:
                print(HEAD)
                for number, what in enumerate(strikes, 1):
                    late += await play(audience, what, wanted.workers)
                    most = max(most, *audience.peaks.values())
                    told.tell(number, what.value)
            wrong = (await farm.audit()).wrong
    backwards = sum(each.backwards for each in audience.followers)
    report(wanted, audience)
    print(
        f"\nNot told all in a quiet moment: {late}. Numbers or games that went back: {backwards};"
        f" numbers beyond the last commit: {audience.beyond}. Disagreements with the ledger:"
        f" {len(wrong)}.\n\nMemory of a server without streams: {alone} MB; with them {most} MB at"
        f" the most, of {bound} MB allowed ({LOAD_MB} MB for the load, and {STREAM_KB} KB for each"
        " of the streams, which all come to one server while there is no other)."
    )
    tell_findings(wrong)
    return 1 if late or wrong or backwards or audience.beyond or most > bound else 0


def report(wanted: Wanted, audience: Audience) -> None:
    followers = audience.followers
    slow = [each for each in followers if each.number % SLOW == 1]
    of_all = [each for each in followers if not each.run]
    leaving = [each for each in followers if each.leaves]
    print(
        f"\n{wanted.streams:,} streams, {wanted.strikes} strikes: {audience.events:,} events read,"
        f" {audience.returns:,} times a reader came back. {len(of_all)} readers followed all runs"
        f" (up to {max(len(each.told) for each in of_all):,} of them), {len(leaving)} of whom were"
        f" away while workers played; {len(slow)} slow readers were told"
        f" {sum(each.events for each in slow):,} events, and"
        f" {sum(each.number % DEAF == 0 for each in followers)} read nothing but in quiet moments."
    )


if __name__ == "__main__":
    sys.exit(run_timed(prove, read_options(Wanted, __doc__)))
