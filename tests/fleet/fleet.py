"""Many simulated workers on one server, which may be killed meanwhile."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.fleet.audit import Audit, audit_server
from tests.fleet.connections import Connections
from tests.fleet.ledger import Ledger
from tests.fleet.worker import Faults, Pace, Worker
from tests.rookery_process import LIMIT_SECONDS
from tests.submissions import SPRT, body

TUNE = {
    "raw_params": "Alpha,50,-1000,1000,2,0.002\nBeta,10,-1000,1000,3,0.002",
    "A": 0.1,
    "alpha": 0.602,
    "gamma": 0.101,
}
MANY_GAMES = 3_000_000
LOOK_SECONDS = 0.01


@dataclass(frozen=True, slots=True)
class Account:
    name: str
    password: str
    token: str


@dataclass(slots=True)
class Silence:
    """The longest time without an answer to a call that needs a commit."""

    seconds: float = 0.0


@dataclass(slots=True)
class SimulatedFleet:
    """Workers, their ledger, and the runs that they play."""

    account: Account
    lines: Connections
    ledger: Ledger = field(default_factory=Ledger)
    faults: Faults = field(default_factory=Faults)
    pace: Pace = field(default_factory=Pace)
    runs: list[str] = field(default_factory=list)
    workers: list[Worker] = field(default_factory=list)

    async def submit(self, count: int) -> None:
        """Submits runs: a tune, one with a fixed number of games, and sequential tests."""
        kinds: list[dict[str, Any]] = [{"spsa": TUNE, "new_signature": "1", "base_signature": "1"}]
        kinds += [{}] + [{"sprt": SPRT}] * (count - 2)
        for number, kind in enumerate(kinds[:count]):
            args = body(new_tag=f"patch{number}", **({"num_games": MANY_GAMES} | kind))
            if "sprt" in kind:
                del args["num_games"]
            made = await self.lines.post("/api/v1/runs", json.dumps(args).encode())
            self.runs.append(made["id"])

    def add(self, count: int, *, user: str = "") -> list[Worker]:
        first = len(self.workers)
        new = [
            Worker(
                number,
                self.lines,
                self.ledger,
                user=user or self.account.name,
                password=self.account.password,
                faults=self.faults,
                pace=self.pace,
            )
            for number in range(first, first + count)
        ]
        self.workers += new
        return new

    @asynccontextmanager
    async def at_work(self, count: int, *, within: float = 0.0) -> AsyncIterator[None]:
        """Runs workers for the length of the block, started one after the other; at its end each
        finishes its call."""
        tasks: list[asyncio.Task[None]] = []
        try:
            began = asyncio.get_running_loop().time()
            for number, worker in enumerate(self.add(count), 1):
                tasks.append(asyncio.create_task(worker.work()))
                await _until(began + within * number / count)
            yield
        finally:
            for worker in self.workers:
                worker.stop()
            await asyncio.gather(*tasks)

    async def wrote_again(self, lives: Callable[[], bool] = lambda: True) -> None:
        """Waits until a call that needs a commit and begins now is answered, as long as the server
        lives."""
        now = time.monotonic()
        while self.lines.written < now:
            assert lives(), "the server ended"
            assert time.monotonic() < now + LIMIT_SECONDS, "nothing is written any more"
            await asyncio.sleep(LOOK_SECONDS)

    async def wait_for_games(self, games: int) -> None:
        """Waits until the results of `games` games were acknowledged, however slow the machine
        is."""
        deadline = time.monotonic() + LIMIT_SECONDS
        while self.ledger.acknowledged_games() < games:
            assert time.monotonic() < deadline, "hardly anything is acknowledged"
            await asyncio.sleep(LOOK_SECONDS)

    @asynccontextmanager
    async def listening_for_silence(self) -> AsyncIterator[Silence]:
        """Measures silence for the length of the block."""
        silence = Silence()
        listening = asyncio.create_task(self._listen(silence))
        try:
            yield silence
        finally:
            listening.cancel()

    async def _listen(self, silence: Silence) -> None:
        heard, since = self.lines.written, time.monotonic()
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            now = time.monotonic()
            silence.seconds = max(silence.seconds, now - since)
            if self.lines.written > heard:
                heard, since = self.lines.written, now

    async def audit(self, where: Path | str) -> Audit:
        """Audits the server on this folder or database, while no worker is active."""
        return await audit_server(self.lines, self.ledger, self.runs, where)


async def _until(moment: float) -> None:
    """Sleeps until a fixed time, so that delays do not add up."""
    await asyncio.sleep(max(0.0, moment - asyncio.get_running_loop().time()))
