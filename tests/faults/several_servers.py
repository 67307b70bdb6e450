"""Several servers on one database under a fleet that calls all of them, as behind a proxy. The
primary is killed, stopped and woken, cut off from the database, or asked to step down.
"""

import asyncio
import contextlib
import enum
import json
import random
import secrets
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import httpx

from rookery.db.target import Target
from tests.commands import run_command
from tests.faults.command_campaign import BOSS, OWNER, CommandCampaign, SentCommand
from tests.faults.proxy import Proxy, proxied
from tests.faults.server_campaign import made_account
from tests.fleet.audit import Audit
from tests.fleet.connections import Answer, Connections
from tests.fleet.fleet import Account, SimulatedFleet
from tests.rookery_process import LIMIT_SECONDS, SIMULATED, RookeryProcess
from tests.submissions import SPRT, body

LEASE = "SELECT epoch, address, expires_at > clock_timestamp() AS live FROM lease"
LOOK_SECONDS = 0.01
PROBE_SECONDS = 0.5
ANSWER_SECONDS = 60.0
UNAVAILABLE = 503
UNPLAYABLE = 16
"""Threads that no simulated worker has: what happens to such a run, people did."""


class Strike(enum.Enum):
    """What happens to the primary."""

    KILLED = "killed"
    STOPPED = "stopped and woken"
    CUT_OFF = "cut off from the database"
    STEPPED_DOWN = "stepped down"


@dataclass(slots=True)
class Member:
    """One of the servers."""

    process: RookeryProcess
    proxy: Proxy
    port: int

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"


class SpreadConnections(Connections):
    """Calls go to any server that answered lately; who is in a call to one that does not waits."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__()
        self.ports: list[int] = []
        self._chance = chance
        self._lines: dict[int, Connections] = {}

    def close(self) -> None:
        for each in self._lines.values():
            each.close()

    async def _exchange(self, request: bytes) -> Answer:
        if not self.ports:
            raise ConnectionRefusedError
        port = self._chance.choice(self.ports)
        if port not in self._lines:
            self._lines[port] = Connections()
            self._lines[port].move(port)
        return await self._lines[port]._exchange(request)


@dataclass(slots=True)
class SeveralServers:
    """The servers, their fleet, and people who send commands to whoever answers."""

    folder: Path
    target: Target
    fleet: SimulatedFleet
    lines: SpreadConnections
    commands: CommandCampaign
    stack: contextlib.AsyncExitStack
    chance: random.Random
    members: list[Member] = field(default_factory=list)
    repeated: int = 0
    """Commands whose server died before it answered."""
    avoided: int = 0
    """The port of a server that was just stopped or cut off."""
    silence: float = 0.0
    """Seconds, the longest since the last strike."""
    refused: int = 0
    """Commands that were to be sent again in a moment."""
    started: int = 0

    async def start(self) -> Member:
        """One more server; it stands by unless it is the first."""
        self.started += 1
        place = self.folder / str(self.started)
        await asyncio.to_thread(place.mkdir)
        proxy, target = await self.stack.enter_async_context(proxied(self.target, place))
        settings = SIMULATED | {"ROOKERY_DATABASE_URL": target.dsn, "ROOKERY_CROSS_APPROVAL": "1"}
        make = partial(RookeryProcess, ("serve",), place / "data", detect=False, settings=settings)
        process = await asyncio.to_thread(make)
        ready = await asyncio.to_thread(process.until, "ready")
        member = Member(process, proxy, urlsplit(str(ready["address"])).port or 0)
        self.members.append(member)
        return member

    async def strike(self, what: Strike) -> float:
        """Gives the longest time in which no call was answered that needed a commit. In the end
        there are as many servers as before."""
        # Calls are to be under way at all servers, also at one that was just started.
        await asyncio.sleep(self.chance.uniform(1, 3))
        primary, epoch = await self.find_primary()
        listening = asyncio.create_task(self._listen())
        try:
            await self._hit(what, primary)
            await self._until_another(epoch)
            await self._until_written(time.monotonic())
        finally:
            listening.cancel()
        seconds = self.silence
        await self._undo(what, primary)
        return seconds

    async def _hit(self, what: Strike, primary: Member) -> None:
        if what is Strike.KILLED:
            await asyncio.to_thread(primary.process.end)
        elif what is Strike.STOPPED:
            self._avoid(primary)
            primary.process.process.send_signal(signal.SIGSTOP)
        elif what is Strike.CUT_OFF:
            self._avoid(primary)
            primary.proxy.is_open.clear()
        else:
            await self._step_down()

    def _avoid(self, member: Member) -> None:
        """New calls go to others, as if a proxy knew at once; those under way stay where they
        are. Else all workers would soon wait for the one that does not answer."""
        self.lines.ports = [port for port in self.lines.ports if port != member.port]
        self.avoided = member.port

    async def _listen(self) -> None:
        heard, since, self.silence = self.lines.written, time.monotonic(), 0.0
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            now = time.monotonic()
            self.silence = max(self.silence, now - since)
            if self.lines.written > heard:
                heard, since = self.lines.written, now

    async def _undo(self, what: Strike, former: Member) -> None:
        self.avoided = 0
        if what is Strike.KILLED:
            self.members.remove(former)
            await self.start()
        elif what is Strike.STOPPED:
            former.process.process.send_signal(signal.SIGCONT)
        elif what is Strike.CUT_OFF:
            former.proxy.is_open.set()
        await self.until_all_answer()

    async def _step_down(self) -> None:
        settings = {"ROOKERY_DATABASE_URL": self.target.dsn}
        run = partial(run_command, "step-down", data=self.folder / "command", settings=settings)
        done = await asyncio.to_thread(run)
        assert done.returncode == 0, done.stderr

    async def find_primary(self) -> tuple[Member, int]:
        deadline = time.monotonic() + LIMIT_SECONDS
        while True:
            row = await self._lease()
            for member in self.members:
                if row["live"] and str(row["address"]).endswith(f":{member.port}"):
                    return member, row["epoch"]
            assert time.monotonic() < deadline, f"nobody is primary: {dict(row)}"
            await asyncio.sleep(LOOK_SECONDS)

    async def _until_another(self, epoch: int) -> None:
        deadline = time.monotonic() + LIMIT_SECONDS
        while (await self._lease())["epoch"] <= epoch:
            assert time.monotonic() < deadline, "nobody takes over"
            await asyncio.sleep(LOOK_SECONDS)

    async def _lease(self) -> asyncpg.Record:
        connection = await asyncpg.connect(**self.target.connect_args)
        try:
            row: asyncpg.Record = await connection.fetchrow(LEASE)
            return row
        finally:
            await connection.close()

    async def _until_written(self, since: float) -> None:
        while self.lines.written < since:
            assert time.monotonic() < since + LIMIT_SECONDS, "nothing is written any more"
            await asyncio.sleep(LOOK_SECONDS)

    async def until_all_answer(self) -> None:
        deadline = time.monotonic() + LIMIT_SECONDS
        wanted = {member.port for member in self.members}
        while set(self.lines.ports) != wanted:
            assert time.monotonic() < deadline, "a server does not come back"
            await asyncio.sleep(LOOK_SECONDS)

    async def probe(self) -> None:
        """Keeps the list of servers that answer, as a proxy does."""
        async with httpx.AsyncClient(timeout=1.0, verify=False) as client:
            while True:
                answers = await asyncio.gather(*(_is_ready(client, m) for m in self.members))
                self.lines.ports = [
                    member.port
                    for member, ready in zip(tuple(self.members), answers, strict=False)
                    if ready and member.port != self.avoided
                ]
                await asyncio.sleep(PROBE_SECONDS)

    async def command(self) -> None:
        """Submits, approves, stops and purges tests through one server or another, without end."""
        commands = self.commands
        while True:
            name = f"LTC idea {time.monotonic_ns()}"
            content = body(sprt=SPRT, info=name, threads=UNPLAYABLE)
            made = await self._send("new_run", name, "", content, commands.owner)
            if not made.is_done:
                continue
            run = json.loads(made.text)["id"]
            await self._send("approve_run", run, f"/{run}/approve", {}, commands.boss)
            await self._send("stop_run", run, f"/{run}/stop", {}, commands.owner)
            await self._send("purge_run", run, f"/{run}/purge", {}, commands.boss)

    async def _send(
        self, action: str, about: str, path: str, content: object, who: Account
    ) -> SentCommand:
        """One command, sent again with the same key until it is answered."""
        key = {"idempotency-key": secrets.token_hex(16), "authorization": f"Bearer {who.token}"}
        while True:
            address = f"{self._any()}/api/v1/runs{path}"
            try:
                answer = await self.commands.client.post(address, json=content, headers=key)
            except httpx.HTTPError:
                self.repeated += 1
                continue
            if answer.status_code == UNAVAILABLE:
                self.refused += 1
                continue
            sent = SentCommand(action, about, answer.status_code, answer.text)
            self.commands.sent.append(sent)
            return sent

    def _any(self) -> str:
        ports = self.lines.ports or [member.port for member in self.members]
        return f"http://127.0.0.1:{self.chance.choice(ports)}"

    @asynccontextmanager
    async def at_work(self, workers: int) -> AsyncIterator[None]:
        """Workers and people, for the length of the block."""
        people = asyncio.create_task(self.command())
        try:
            async with self.fleet.at_work(workers):
                yield
        finally:
            people.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await people

    async def audit(self) -> Audit:
        """Asked while nobody is at work."""
        return await self.fleet.audit(self.target.dsn)


async def _is_ready(client: httpx.AsyncClient, member: Member) -> bool:
    try:
        return (await client.get(f"{member.address}/readyz")).status_code == 200
    except httpx.HTTPError:
        return False


@asynccontextmanager
async def several_servers(
    target: Target, folder: Path, count: int, *, runs: int, seed: int
) -> AsyncIterator[SeveralServers]:
    """So many servers with runs to play."""
    settings = {"ROOKERY_DATABASE_URL": target.dsn}
    make = partial(made_account, folder / "accounts", settings=settings)
    owner, boss = [await asyncio.to_thread(make, name) for name in (OWNER, BOSS)]
    chance = random.Random(seed)
    lines = SpreadConnections(chance)
    async with (
        contextlib.AsyncExitStack() as stack,
        httpx.AsyncClient(timeout=ANSWER_SECONDS, verify=False) as client,
    ):
        commands = CommandCampaign(target, folder, owner, boss, client)
        fleet = SimulatedFleet(owner, lines)
        farm = SeveralServers(folder, target, fleet, lines, commands, stack, chance)
        stack.push_async_callback(_end, farm)
        for _ in range(count):
            await farm.start()
        probing = asyncio.create_task(farm.probe())
        stack.callback(probing.cancel)
        await farm.until_all_answer()
        await _submit(farm, runs)
        yield farm


async def _submit(farm: SeveralServers, runs: int) -> None:
    farm.lines.token = farm.commands.owner.token
    await farm.fleet.submit(runs)
    farm.lines.token = farm.commands.boss.token
    for run in farm.fleet.runs:
        await farm.lines.post(f"/api/v1/runs/{run}/approve", b"{}")


async def _end(farm: SeveralServers) -> None:
    farm.lines.close()
    for member in farm.members:
        member.proxy.is_open.set()
        member.process.process.send_signal(signal.SIGCONT)
        await asyncio.to_thread(member.process.end)
