"""Two servers on one database under a fleet: the primary is killed, stopped and woken, cut off from
the database or stepped down, and the other goes on."""

import asyncio
import json
import signal
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from rookery.db.target import Target
from tests.commands import run_command
from tests.eventually import eventually
from tests.faults.proxy import Proxy, proxied
from tests.faults.server_campaign import made_account
from tests.fleet.audit import Audit
from tests.fleet.connections import Connections
from tests.fleet.fleet import SimulatedFleet
from tests.rookery_process import LIMIT_SECONDS, SIMULATED, RookeryProcess


@dataclass(frozen=True, slots=True)
class Instance:
    """A server, and its own way to the database."""

    process: RookeryProcess
    proxy: Proxy

    @property
    def port(self) -> int:
        return urlsplit(self.process.address).port or 0

    def role(self) -> str:
        return str(json.loads(self.process.get("/readyz")[1])["role"])


@dataclass(slots=True)
class TakeoverCampaign:
    """The first of the servers is primary; the fleet calls whichever it is told to."""

    database: Target
    folder: Path
    fleet: SimulatedFleet
    ways: AsyncExitStack
    servers: list[Instance] = field(default_factory=list)
    started: int = 0

    async def start(self) -> None:
        """One more server, which stands by unless it is the first."""
        self.started += 1
        folder = self.folder / f"way{self.started}"
        await asyncio.to_thread(folder.mkdir)
        proxy, target = await self.ways.enter_async_context(proxied(self.database, folder))
        settings = SIMULATED | {"ROOKERY_DATABASE_URL": target.dsn}
        data = self.folder / f"server{self.started}"
        make = partial(RookeryProcess, ("serve",), data, detect=False, settings=settings)
        process = await asyncio.to_thread(make)
        await asyncio.to_thread(process.until, "ready")
        self.servers.append(Instance(process, proxy))

    async def call(self, instance: Instance) -> None:
        """From now on the fleet calls this one, and no call is under way to another."""
        lines, port = self.fleet.lines, await asyncio.to_thread(lambda: instance.port)
        lines.move(port)
        await eventually(lambda: lines.under_way.total() == lines.under_way[port])

    async def kill(self) -> float:
        """Gives the seconds until somebody was answered again; so do the others."""
        primary, other = self.servers
        await self.call(other)
        began = time.monotonic()
        await asyncio.to_thread(primary.process.end)
        self.servers.remove(primary)
        return await self.wait_for_answers(began)

    async def stop_and_wake(self) -> float:
        primary, other = self.servers
        await self.call(other)
        began = time.monotonic()
        primary.process.process.send_signal(signal.SIGSTOP)
        taken = await self.wait_for_answers(began)
        primary.process.process.send_signal(signal.SIGCONT)
        await self.wait_for_role(primary, "secondary")
        self.servers.reverse()
        return taken

    async def cut_off(self) -> float:
        """The primary lives and is reached, but its database is not."""
        primary, other = self.servers
        await self.call(other)
        began = time.monotonic()
        primary.proxy.is_open.clear()
        taken = await self.wait_for_answers(began)
        primary.proxy.is_open.set()
        await self.wait_for_role(primary, "secondary")
        self.servers.reverse()
        return taken

    async def step_down(self) -> float:
        """The fleet calls the very one that steps down."""
        primary, _ = self.servers
        await self.call(primary)
        began = time.monotonic()
        named = {"ROOKERY_DATABASE_URL": self.database.dsn}
        await asyncio.to_thread(
            partial(run_command, "step-down", data=self.folder / "command", settings=named)
        )
        taken = await self.wait_for_answers(began)
        await self.wait_for_role(primary, "secondary")
        self.servers.reverse()
        return taken

    async def wait_for_answers(self, since: float) -> float:
        """Until a call is answered that began after the fault; gives how long that took."""
        await eventually(lambda: self.fleet.lines.written > since, seconds=LIMIT_SECONDS)
        return time.monotonic() - since

    async def wait_for_role(self, instance: Instance, role: str) -> None:
        for _ in range(600):
            if await asyncio.to_thread(instance.role) == role:
                return
            await asyncio.sleep(0.1)
        raise AssertionError(f"it is not {role}")

    async def audit(self) -> Audit:
        """Asked of each server, while nobody is at work: both say the same."""
        found = []
        for instance in self.servers:
            await self.call(instance)
            found.append(await self.fleet.audit(self.database.dsn))
        assert len({(each.wrong, each.games, each.tasks) for each in found}) == 1
        return found[0]


@asynccontextmanager
async def takeover_campaign(
    database: Target, folder: Path, *, runs: int = 4
) -> AsyncIterator[TakeoverCampaign]:
    settings = SIMULATED | {"ROOKERY_DATABASE_URL": database.dsn}
    account = await asyncio.to_thread(made_account, folder / "command", settings=settings)
    lines = Connections()
    lines.token = account.token
    async with AsyncExitStack() as ways:
        campaign = TakeoverCampaign(database, folder, SimulatedFleet(account, lines), ways)
        try:
            await campaign.start()
            await campaign.start()
            await campaign.call(campaign.servers[0])
            await campaign.fleet.submit(runs)
            yield campaign
        finally:
            lines.close()
            for instance in campaign.servers:
                await asyncio.to_thread(instance.process.end)
