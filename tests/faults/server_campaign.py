"""A server that is killed repeatedly under a fleet that never gives up."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from tests.faults.processes import backends_of, kill
from tests.faults.serving import end_servers, made_account, start_server, wait_for_port
from tests.fleet.audit import Audit
from tests.fleet.connections import Connections
from tests.fleet.fleet import SimulatedFleet
from tests.rookery_process import COMMAND, SIMULATED, RookeryProcess

DYING = (sys.executable, "-m", "tests.faults.dying_serve")
MOMENTS = ("before_the_change", "after_the_change", "during_commit", "before_the_answer")


@dataclass(slots=True)
class Campaign:
    """A data folder and a fleet, with successive servers."""

    data: Path
    fleet: SimulatedFleet
    server: RookeryProcess | None = None
    deaths: list[str] = field(default_factory=list)
    settings: Mapping[str, str] = field(default_factory=lambda: SIMULATED)
    command: Sequence[str] = COMMAND
    """The command that starts each server, unless another is given."""

    async def start(
        self, command: Sequence[str] | None = None, *, detect: bool = False
    ) -> RookeryProcess:
        """Starts a server; returns when it serves, or is dead already."""
        words = command or self.command
        self.server = server = await start_server(self.data, self.settings, words, detect=detect)
        self.fleet.lines.move(await wait_for_port(server))
        return server

    async def die_at(self, moment: str, times: int) -> None:
        """Runs a server that kills itself at a test point."""
        server = await self.start((*DYING, f"{moment}:{times}"))
        assert await asyncio.to_thread(server.process.wait, 120) == -9
        await self._bury(server, moment)

    async def strike(self, victim: str, seconds: float) -> None:
        """Kills the server, or a process that it depends on, after a while; in the latter case the
        server survives."""
        server = self.server or await self.start()
        await asyncio.sleep(seconds)
        if victim == "server":
            await self._bury(server, victim)
            return
        await asyncio.to_thread(_kill_database, server, victim)
        await self.wait_until_writing(server)
        self.deaths.append(victim)

    async def outage(self, seconds: float) -> None:
        """Suspends the database for longer than any time limit, and then resumes it."""
        async with self.suspended_database() as server:
            await asyncio.sleep(seconds)
        await self.wait_until_writing(server)
        self.deaths.append("outage")

    @asynccontextmanager
    async def suspended_database(self) -> AsyncIterator[RookeryProcess]:
        """Suspends the database and all its sessions for the length of the block."""
        server = self.server or await self.start()
        events = await asyncio.to_thread(server.events)
        ready = [each for each in events if each["event"] == "database_ready"][-1]
        postmaster = str(ready["postmaster"])
        stopped = [int(postmaster), *await asyncio.to_thread(backends_of, postmaster)]
        _signal(stopped, signal.SIGSTOP)
        try:
            yield server
        finally:
            _signal(stopped, signal.SIGCONT)

    async def wait_until_writing(self, server: RookeryProcess) -> None:
        """Waits until the server writes workers' results again. It rereads its state only if a
        commit was in progress."""
        await self.fleet.wrote_again(lambda: server.process.poll() is None)

    async def audit(self) -> Audit:
        """Audits the server, while no worker is active."""
        return await self.fleet.audit(self.settings.get("ROOKERY_DATABASE_URL") or self.data)

    async def dead_tasks(self) -> int:
        """The number of tasks that were ended for silence, as far as a page of the log shows."""
        answer = await self.fleet.lines.get("/api/v1/actions?action=dead_task&size=200")
        return len(answer["actions"])

    async def finish(self) -> None:
        await end_servers([self.server] if self.server else [])

    async def _bury(self, server: RookeryProcess, death: str) -> None:
        await end_servers([server])
        self.deaths.append(death)
        self.server = None


def _signal(pids: Sequence[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def _kill_database(server: RookeryProcess, victim: str) -> None:
    ready = [each for each in server.events() if each["event"] == "database_ready"][-1]
    postmaster = str(ready["postmaster"])
    kill(postmaster if victim == "postgres" else backends_of(postmaster)[0])


@asynccontextmanager
async def campaign_on(
    data: Path,
    *,
    runs: int,
    database_url: str = "",
    proxy: str = "",
    more: Mapping[str, str] = MappingProxyType({}),
    command: Sequence[str] = COMMAND,
) -> AsyncIterator[Campaign]:
    """Starts a first server with runs to play, on its own database unless another is given. `proxy`
    is the address of a trusted proxy; `more` are further settings."""
    named = {"ROOKERY_DATABASE_URL": database_url, "ROOKERY_TRUSTED_PROXIES": proxy}
    settings = SIMULATED | {name: value for name, value in named.items() if value} | dict(more)
    account = await asyncio.to_thread(made_account, data, settings=settings)
    lines = Connections(token=account.token)
    fleet = SimulatedFleet(account, lines)
    campaign = Campaign(data, fleet, settings=settings, command=command)
    try:
        await campaign.start()
        await campaign.fleet.submit(runs)
        yield campaign
    finally:
        # Some tests replace the connections by counting ones, so close both.
        for each in {lines, campaign.fleet.lines}:
            each.close()
        await campaign.finish()
