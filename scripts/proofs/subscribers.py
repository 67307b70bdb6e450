"""Follows runs from 1,000 streams over two servers while the primary is killed: all hear the end.

    scripts/prove subscribers [--streams N] [--kills N] [--workers N] [--seed N]

Half of the streams are at each server; a tenth of the readers take two seconds over each event, and
one in fifty does not read at all until the end. Workers play meanwhile. The primary is killed and
another server started, so many times; readers whose stream breaks off come back to any server with
the number of the last event they have seen. In the end each must have been told how its run stands.
"""

import argparse
import asyncio
import contextlib
import json
import random
import re
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from scripts.progress import Progress
from tests.database import running
from tests.faults.several_servers import SeveralServers, Strike, several_servers
from tests.fleet.worker import Pace

RUNS = 4
SLOW, DEAF = 10, 50
SLOW_SECONDS = 2.0
LAST_SECONDS = 90.0
PAUSE_SECONDS = 5.0
CALM = Pace(seconds=0.3)


@dataclass(slots=True)
class Follower:
    """One reader of one run."""

    number: int
    run: str
    farm: SeveralServers
    events: int = 0
    returns: int = -1
    last: str = ""
    shown: dict[str, int] = field(default_factory=dict)
    over: asyncio.Event = field(default_factory=asyncio.Event)

    async def follow(self) -> None:
        while True:
            ports = self.farm.lines.ports
            if ports:
                port = ports[(self.number + max(0, self.returns)) % len(ports)]
                self.returns += 1
                with contextlib.suppress(OSError, EOFError, ValueError):
                    await self._read(port)
            await asyncio.sleep(0.5 + self.number % 100 / 100)

    async def _read(self, port: int) -> None:
        # Of an address of its own: there is a bound for each.
        address = f"127.1.{self.number // 250}.{self.number % 250 + 1}"
        incoming, outgoing = await asyncio.open_connection(
            "127.0.0.1", port, local_addr=(address, 0)
        )
        after = f"last-event-id: {self.last}\r\n" if self.last else ""
        path = f"/api/v1/events?run={self.run}"
        outgoing.write(f"GET {path} HTTP/1.1\r\nhost: localhost\r\n{after}\r\n".encode())
        try:
            while line := await incoming.readline():
                await self._take(line)
        finally:
            outgoing.close()

    async def _take(self, line: bytes) -> None:
        if line.startswith(b"id: "):
            self.last = line[4:].strip().decode()
        elif line.startswith(b"data: {") and b'"results"' in line:
            self.events += 1
            self.shown = json.loads(line[6:])["results"]
            if self.number % DEAF == 0:
                await self.over.wait()
            if self.number % SLOW == 1 and not self.over.is_set():
                await asyncio.sleep(SLOW_SECONDS)


async def memory(farm: SeveralServers) -> str:
    """Of the servers, in MB."""

    def read() -> list[int]:
        texts = [
            Path(f"/proc/{member.process.process.pid}/status").read_text()
            for member in farm.members
        ]
        return [
            int(found[1]) // 1024
            for found in (re.search(r"VmRSS:\s+(\d+)", t) for t in texts)
            if found
        ]

    return " and ".join(map(str, await asyncio.to_thread(read)))


async def find_late(farm: SeveralServers, followers: list[Follower]) -> list[Follower]:
    """Those who have not been told how their run stands, after a while."""
    final = {}
    for run in farm.fleet.runs:
        final[run] = (await farm.lines.get(f"/api/v1/runs/{run}"))["results"]
    deadline, late = time.monotonic() + LAST_SECONDS, followers
    while late and time.monotonic() < deadline:
        await asyncio.sleep(1)
        late = [each for each in late if each.shown != final[each.run]]
    return late


async def play(farm: SeveralServers, followers: list[Follower], kills: int, workers: int) -> None:
    told = Progress(kills, "takeovers")
    async with farm.at_work(workers):
        await asyncio.sleep(PAUSE_SECONDS)
        print(f"memory with all streams open: {await memory(farm)} MB")
        for number in range(1, kills + 1):
            seconds = await farm.strike(Strike.KILLED)
            told.tell(number, f"{seconds:.1f} s without an answer")
            await asyncio.sleep(PAUSE_SECONDS)


async def prove(wanted: argparse.Namespace, folder: Path) -> int:
    with running(folder / "postgres") as target:
        async with several_servers(target, folder, 2, runs=RUNS, seed=wanted.seed) as farm:
            farm.fleet.pace = CALM
            print(f"memory of the servers without streams: {await memory(farm)} MB")
            chance = random.Random(wanted.seed)
            followers = [
                Follower(number, chance.choice(farm.fleet.runs), farm)
                for number in range(wanted.streams)
            ]
            tasks = [asyncio.create_task(each.follow()) for each in followers]
            try:
                await play(farm, followers, wanted.kills, wanted.workers)
                for each in followers:
                    each.over.set()
                late = await find_late(farm, followers)
                print(f"memory in the end: {await memory(farm)} MB")
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
            wrong = (await farm.audit()).wrong
    events, returns = sum(f.events for f in followers), sum(f.returns for f in followers)
    slow = [each for each in followers if each.number % SLOW == 1]
    print(
        f"{len(followers)} streams, {wanted.kills} kills: {events:,} events read, {returns:,} times"
        f" a reader came back; {len(slow)} slow readers were told {sum(f.events for f in slow):,}"
        f" events.\nNot told how their run stands in the end: {len(late)}. Disagreements with the"
        f" ledger: {len(wrong)}."
    )
    return 1 if late or wrong else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/prove subscribers", description=__doc__)
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--workers", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    wanted, began = parser.parse_args(), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="rs-") as folder:
        code = asyncio.run(prove(wanted, Path(folder)))
    print(f"\n{time.monotonic() - began:.0f} s")
    return code


if __name__ == "__main__":
    sys.exit(main())
