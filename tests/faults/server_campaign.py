"""A server that is killed again and again under a fleet that never gives up."""

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
    """One folder, one fleet, and one server after the other."""

    data: Path
    fleet: SimulatedFleet
    server: RookeryProcess | None = None
    deaths: list[str] = field(default_factory=list)
    settings: Mapping[str, str] = field(default_factory=lambda: SIMULATED)
    command: Sequence[str] = COMMAND
    """What each server is started by, unless another is named."""

    async def start(
        self, command: Sequence[str] | None = None, *, detect: bool = False
    ) -> RookeryProcess:
        """Returns when it serves, or is dead already."""
        words = command or self.command
        self.server = server = await start_server(self.data, self.settings, words, detect=detect)
        self.fleet.lines.move(await wait_for_port(server))
        return server

    async def die_at(self, moment: str, times: int) -> None:
        """A server that dies by itself."""
        server = await self.start((*DYING, f"{moment}:{times}"))
        assert await asyncio.to_thread(server.process.wait, 120) == -9
        await self._bury(server, moment)

    async def strike(self, victim: str, seconds: float) -> None:
        """A server, or what it stands on, is killed after a while; it lives on in the latter
        case."""
        server = self.server or await self.start()
        await asyncio.sleep(seconds)
        if victim == "server":
            await self._bury(server, victim)
            return
        await asyncio.to_thread(_kill_database, server, victim)
        await self.get_over_it(server)
        self.deaths.append(victim)

    async def outage(self, seconds: float) -> None:
        """The database says nothing for longer than anybody waits for it, and then goes on."""
        server = self.server or await self.start()
        events = await asyncio.to_thread(server.events)
        ready = [each for each in events if each["event"] == "database_ready"][-1]
        postmaster = str(ready["postmaster"])
        stopped = [int(postmaster), *await asyncio.to_thread(backends_of, postmaster)]
        _signal(stopped, signal.SIGSTOP)
        try:
            await asyncio.sleep(seconds)
        finally:
            _signal(stopped, signal.SIGCONT)
        await self.get_over_it(server)
        self.deaths.append("outage")

    async def get_over_it(self, server: RookeryProcess) -> None:
        """Waits until it writes again what workers tell. It reads its state anew only if something
        was on its way to the database."""
        await self.fleet.wrote_again(lambda: server.process.poll() is None)

    async def audit(self) -> Audit:
        """Asked while nobody is at work."""
        return await self.fleet.audit(self.settings.get("ROOKERY_DATABASE_URL") or self.data)

    async def dead_tasks(self) -> int:
        """Tasks that were buried for silence, as far as a page of the log shows."""
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
    """A first server with runs to play, on a database of its own unless another one is named; the
    address of a proxy before it is believed who it calls for; `more` settings for the server."""
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
        # Whoever counts something has put others in their place.
        for each in {lines, campaign.fleet.lines}:
            each.close()
        await campaign.finish()
