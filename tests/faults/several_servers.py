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
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol

import asyncpg
import httpx

from rookery.db.target import Target
from tests.commands import run_command
from tests.faults.people import BOSS, OWNER, People, PlannedCommand, SentCommand
from tests.faults.proxy import Proxy, proxied
from tests.faults.serving import end_servers, made_account, start_server, wait_for_port
from tests.fleet.audit import Audit
from tests.fleet.connections import Answer, Connections
from tests.fleet.fleet import SimulatedFleet
from tests.rookery_process import LIMIT_SECONDS, SIMULATED, RookeryProcess

LEASE = "SELECT epoch, address, expires_at > clock_timestamp() AS live FROM lease"
LOOK_SECONDS = 0.01
PROBE_SECONDS = 0.5
ANSWER_SECONDS = 60.0
UNAVAILABLE = 503
MOST_CALLS = 128
"""At once, of workers and of machines that are kept waiting."""
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

    def role(self) -> str:
        return str(json.loads(self.process.get("/readyz")[1]).get("role"))


class Questions(Protocol):
    """What is asked of a server right when it comes back."""

    def put_to(self, address: str) -> AbstractAsyncContextManager[None]:
        """Asked before the block begins, and for a while after it."""
        ...


class CallHearer(Protocol):
    """Who is told of every call of a worker, when it is sent and when it was answered."""

    def note_sent(self, path: str, body: bytes, client: str) -> None: ...

    def note_answer(self, path: str, body: bytes, client: str, answer: Answer) -> None: ...


class SpreadConnections(Connections):
    """Calls go to any server that answered lately; who is in a call to one that does not waits."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__(most=MOST_CALLS)
        self.ports: list[int] = []
        self.only = 0
        """The port of the one server that is called at the moment, if it is one."""
        self.hearers: list[CallHearer] = []
        self._chance = chance
        self._lines: dict[int, Connections] = {}

    def close(self) -> None:
        for each in self._lines.values():
            each.close()

    async def cut(self, path: str, body: bytes, client: str = "127.0.0.1") -> None:
        with contextlib.suppress(ConnectionRefusedError):
            await self._choose().cut(path, body, client)

    async def _call(self, method: str, path: str, body: bytes, client: str) -> Answer:
        for each in self.hearers:
            each.note_sent(path, body, client)
        answer = await super()._call(method, path, body, client)
        for each in self.hearers:
            each.note_answer(path, body, client, answer)
        return answer

    async def _exchange(self, request: bytes) -> Answer:
        return await self._choose()._exchange(request)

    def _choose(self) -> Connections:
        if not (self.only or self.ports):
            raise ConnectionRefusedError
        port = self.only or self._chance.choice(self.ports)
        if port not in self._lines:
            self._lines[port] = Connections()
            self._lines[port].move(port)
        return self._lines[port]


@dataclass(slots=True)
class SeveralServers:
    """The servers, their fleet, and people who send commands to whoever answers."""

    folder: Path
    target: Target
    fleet: SimulatedFleet
    lines: SpreadConnections
    people: People
    stack: contextlib.AsyncExitStack
    chance: random.Random
    looking: "asyncpg.Connection[asyncpg.Record]"
    """Over which the lease is looked at, again and again."""
    members: list[Member] = field(default_factory=list)
    repeated: int = 0
    """Commands whose server died before it answered."""
    avoided: int = 0
    """The port of a server that was just stopped or cut off."""
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
        process = await start_server(place / "data", settings)
        member = Member(process, proxy, await wait_for_port(process))
        self.members.append(member)
        return member

    async def remove(self, member: Member) -> None:
        """Kills it, if it lives."""
        self.members.remove(member)
        await end_servers([member.process])

    async def strike(self, what: Strike, questions: "Questions | None" = None) -> float:
        """Gives the longest time in which no call was answered that needed a commit. In the end
        there are as many servers as before. Questions are put to a server that was stopped or cut
        off as it comes back."""
        # Calls are to be under way at all servers, also at one that was just started.
        await asyncio.sleep(self.chance.uniform(1, 3))
        primary, epoch = await self.find_primary()
        async with self.fleet.listening_for_silence() as silence:
            await self._hit(what, primary)
            await self._until_another(epoch)
            await self.fleet.wrote_again()
        if questions is not None and what in (Strike.STOPPED, Strike.CUT_OFF):
            async with questions.put_to(primary.address):
                self._let_go_on(what, primary)
        await self._undo(what, primary)
        return silence.seconds

    async def _hit(self, what: Strike, primary: Member) -> None:
        if what is Strike.KILLED:
            await self.remove(primary)
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

    async def _undo(self, what: Strike, former: Member) -> None:
        self.avoided = 0
        if what is Strike.KILLED:
            await self.start()
        self._let_go_on(what, former)
        await self.until_all_answer()
        if what is not Strike.KILLED:
            await self._until_secondary(former)

    def _let_go_on(self, what: Strike, former: Member) -> None:
        if what is Strike.STOPPED:
            former.process.process.send_signal(signal.SIGCONT)
        elif what is Strike.CUT_OFF:
            former.proxy.is_open.set()

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
        row = await self.looking.fetchrow(LEASE)
        assert row is not None
        return row

    async def _until_secondary(self, former: Member) -> None:
        deadline = time.monotonic() + LIMIT_SECONDS
        while await asyncio.to_thread(former.role) != "secondary":
            assert time.monotonic() < deadline, "the former primary does not stand by"
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
                members = tuple(self.members)
                answers = await asyncio.gather(*(_is_ready(client, each) for each in members))
                self.lines.ports = [
                    member.port
                    for member, ready in zip(members, answers, strict=True)
                    if ready and member.port != self.avoided
                ]
                await asyncio.sleep(PROBE_SECONDS)

    async def command(self) -> None:
        """Submits, approves, stops and purges tests through one server or another, without end."""
        people = self.people
        while True:
            name = f"LTC idea {time.monotonic_ns()}"
            made = await self.send(people.plan_run(name, threads=UNPLAYABLE))
            if made.is_done:
                run = json.loads(made.text)["id"]
                for action in ("approve_run", "stop_run", "purge_run"):
                    await self.send(people.plan(action, run))

    async def send(self, planned: PlannedCommand) -> SentCommand:
        """One command, sent again with the same key until it is answered."""
        key = secrets.token_hex(16)
        self.people.begun[planned.action, planned.about] += 1
        while True:
            try:
                sent = await self.people.try_sending(planned, self._any(), key)
            except httpx.HTTPError:
                self.repeated += 1
                continue
            if sent.status == UNAVAILABLE:
                self.refused += 1
                continue
            self.people.sent.append(sent)
            return sent

    def _any(self) -> str:
        ports = self.lines.ports or [member.port for member in self.members]
        return f"http://127.0.0.1:{self.chance.choice(ports)}"

    @asynccontextmanager
    async def at_work(
        self, workers: int, *others: Callable[[], Coroutine[None, None, None]]
    ) -> AsyncIterator[None]:
        """Workers and people, and what others do, for the length of the block."""
        people = [asyncio.create_task(each()) for each in (self.command, *others)]
        try:
            async with self.fleet.at_work(workers):
                yield
        finally:
            for each in people:
                each.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await each

    async def audit(self) -> Audit:
        """Asked of each server, while nobody is at work: all say the same."""
        found = []
        for member in self.members:
            with self.calling_only(member):
                found.append(await self.fleet.audit(self.target.dsn))
        assert len({(each.wrong, each.games, each.tasks) for each in found}) == 1, found
        return found[0]

    @contextmanager
    def calling_only(self, member: Member) -> Iterator[None]:
        """The fleet calls no other server for the length of the block."""
        self.lines.only = member.port
        try:
            yield
        finally:
            self.lines.only = 0


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
        people = People(target, owner, boss, client)
        fleet = SimulatedFleet(owner, lines)
        looking = await asyncpg.connect(**target.connect_args)
        stack.push_async_callback(looking.close)
        farm = SeveralServers(folder, target, fleet, lines, people, stack, chance, looking)
        stack.push_async_callback(_end, farm)
        for _ in range(count):
            await farm.start()
        probing = asyncio.create_task(farm.probe())
        stack.callback(probing.cancel)
        await farm.until_all_answer()
        await _submit(farm, runs)
        yield farm


async def _submit(farm: SeveralServers, runs: int) -> None:
    farm.lines.token = farm.people.owner.token
    await farm.fleet.submit(runs)
    farm.lines.token = farm.people.boss.token
    for run in farm.fleet.runs:
        await farm.lines.post(f"/api/v1/runs/{run}/approve", b"{}")


async def _end(farm: SeveralServers) -> None:
    farm.lines.close()
    for member in farm.members:
        member.proxy.is_open.set()
        member.process.process.send_signal(signal.SIGCONT)
    await end_servers(each.process for each in farm.members)
