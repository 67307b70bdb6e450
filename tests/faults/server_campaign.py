"""A server that is killed again and again under a fleet that never gives up."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType
from urllib.parse import urlsplit

from tests.faults.processes import backends_of, kill
from tests.fleet.audit import Audit
from tests.fleet.connections import Connections
from tests.fleet.fleet import Account, SimulatedFleet
from tests.forks import PROJECT
from tests.rookery_process import COMMAND, LIMIT_SECONDS, SIMULATED, RookeryProcess, environment

DYING = (sys.executable, "-m", "tests.faults.dying_serve")
PASSWORD = "correct horse battery staple"
MOMENTS = ("before_the_change", "after_the_change", "during_commit", "before_the_answer")


def made_account(
    data: Path,
    name: str = "fleet",
    password: str = PASSWORD,
    settings: Mapping[str, str] = SIMULATED,
    command: Sequence[str] = COMMAND,
) -> Account:
    """An approver with a token, made while no server runs."""
    words = ("user", "add", name, "--password-stdin", "--approver", "--machine-limit=1000000")
    _cli(data, settings, *command, *words, told=password)
    token = _cli(data, settings, *command, "token", "create", "--user", name).split()[-1]
    return Account(name, password, token)


def _cli(data: Path, settings: Mapping[str, str], *words: str, told: str = "") -> str:
    return subprocess.run(
        [*words, f"--data={data}"],
        cwd=PROJECT,
        env=environment(detect=False) | dict(settings),
        input=told,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


@dataclass(slots=True)
class Campaign:
    """One folder, one fleet, and one server after the other."""

    data: Path
    fleet: SimulatedFleet
    server: RookeryProcess | None = None
    deaths: list[str] = field(default_factory=list)
    settings: Mapping[str, str] = field(default_factory=lambda: SIMULATED)

    async def start(
        self, command: Sequence[str] = COMMAND, *, detect: bool = False
    ) -> RookeryProcess:
        """Returns when it serves, or is dead already."""
        make = partial(
            RookeryProcess, ("serve",), self.data, command, detect=detect, settings=self.settings
        )
        self.server = server = await asyncio.to_thread(make)
        ready = await asyncio.to_thread(server.until, "ready")
        self.fleet.lines.move(urlsplit(str(ready["address"])).port or 0)
        return server

    async def die_at(self, moment: str, times: int) -> None:
        """A server that dies by itself."""
        server = await self.start((*DYING, f"{moment}:{times}"))
        assert await asyncio.to_thread(server.process.wait, 120) == -9
        self._note(server, moment)

    async def strike(self, victim: str, seconds: float) -> None:
        """A server, or what it stands on, is killed after a while; it lives on in the latter
        case."""
        server = self.server or await self.start()
        await asyncio.sleep(seconds)
        if victim == "server":
            await asyncio.to_thread(server.kill)
            self._note(server, victim)
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
        now = time.monotonic()
        while self.fleet.lines.written < now:
            assert server.process.poll() is None, "the server ended with its database"
            assert time.monotonic() < now + LIMIT_SECONDS, "nothing is written any more"
            await asyncio.sleep(0.05)

    async def audit(self) -> Audit:
        """Asked while nobody is at work."""
        return await self.fleet.audit(self.settings.get("ROOKERY_DATABASE_URL") or self.data)

    async def dead_tasks(self) -> int:
        """Tasks that were buried for silence, as far as a page of the log shows."""
        answer = await self.fleet.lines.get("/api/v1/actions?action=dead_task&size=200")
        return len(answer["actions"])

    def finish(self) -> None:
        """What the last server said about sums that it had to correct."""
        for server in [self.server] if self.server else []:
            server.kill()
            self._close(server)

    def corrections(self) -> int:
        logs = self.data.parent.glob(f"{self.data.name}-*.log")
        return sum(log.read_text().count('"sums_corrected"') for log in logs)

    def _note(self, server: RookeryProcess, death: str) -> None:
        self.deaths.append(death)
        self._close(server)
        self.server = None

    def _close(self, server: RookeryProcess) -> None:
        assert server.process.stdout is not None
        server.process.stdout.close()


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
) -> AsyncIterator[Campaign]:
    """A first server with runs to play, on a database of its own unless another one is named; the
    address of a proxy before it is believed who it calls for; `more` settings for the server."""
    named = {"ROOKERY_DATABASE_URL": database_url, "ROOKERY_TRUSTED_PROXIES": proxy}
    settings = SIMULATED | {name: value for name, value in named.items() if value} | dict(more)
    account = await asyncio.to_thread(made_account, data, settings=settings)
    lines = Connections()
    lines.token = account.token
    campaign = Campaign(data, SimulatedFleet(account, lines), settings=settings)
    try:
        await campaign.start()
        await campaign.fleet.submit(runs)
        yield campaign
    finally:
        lines.close()
        await asyncio.to_thread(campaign.finish)


def summary(campaign: Campaign) -> str:
    counts = {death: campaign.deaths.count(death) for death in sorted(set(campaign.deaths))}
    return json.dumps(counts)
