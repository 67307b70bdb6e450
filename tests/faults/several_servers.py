"""Several servers on one database under a fleet that calls all of them, as through a proxy. The
primary is killed, suspended and resumed, cut off from the database, or asked to step down.
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

from rookery.server.db.target import Target
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
"""The most simultaneous calls of workers and waiting machines."""
UNPLAYABLE = 16
"""A number of threads that no simulated worker has, so that everything that happens to such a run
is due to people."""


class Strike(enum.Enum):
    """The kinds of strikes against the primary."""

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
    """Questions to a server at the moment it comes back."""

    def put_to(self, address: str) -> AbstractAsyncContextManager[None]:
        """Asks questions before the block begins and for a while afterwards."""
        ...


class CallHearer(Protocol):
    """Receives every call of a worker when it is sent and when it is answered."""

    def note_sent(self, path: str, body: bytes, client: str) -> None: ...

    def note_answer(self, path: str, body: bytes, client: str, answer: Answer) -> None: ...


class SpreadConnections(Connections):
    """Connections to any server that answered recently; a call to one that does not answer
    waits."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__(most=MOST_CALLS)
        self.ports: list[int] = []
        self.hosts: dict[int, str] = {}
        """The addresses of servers that are not on this host, by their ports."""
        self.only = 0
        """The port of the only server to call, or 0."""
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
            self._lines[port] = Connections(host=self.hosts.get(port, "127.0.0.1"))
            self._lines[port].move(port)
        return self._lines[port]


@dataclass(slots=True)
class SeveralServers:
    """The servers, their fleet, and people who send commands to any server that answers."""

    folder: Path
    target: Target
    fleet: SimulatedFleet
    lines: SpreadConnections
    people: People
    stack: contextlib.AsyncExitStack
    chance: random.Random
    looking: "asyncpg.Connection[asyncpg.Record]"
    """A connection for reading the lease repeatedly."""
    members: list[Member] = field(default_factory=list)
    repeated: int = 0
    """The number of commands whose server died before it answered."""
    avoided: int = 0
    """The port of a server that was just suspended or cut off."""
    refused: int = 0
    """The number of commands that were refused with a request to repeat them."""
    started: int = 0

    async def start(self) -> Member:
        """Starts another server; it stands by unless it is the first."""
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
        """Kills a server, if it lives."""
        self.members.remove(member)
        await end_servers([member.process])

    async def strike(self, what: Strike, questions: "Questions | None" = None) -> float:
        """Strikes the primary; returns the longest time without an answer to a call that needs a
        commit. At the end there are as many servers as before. `questions` are put to a suspended
        or cut-off server when it comes back."""
        # Calls should be in progress at all servers, including one that was just started.
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
        """Sends new calls to other servers, as if a proxy noticed at once; calls in progress stay.
        Otherwise all workers would soon wait for the server that does not answer."""
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
        """Maintains the list of servers that answer, as a proxy does."""
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
        """Submits, approves, stops and purges tests through random servers, without end."""
        people = self.people
        while True:
            name = f"LTC idea {time.monotonic_ns()}"
            made = await self.send(people.plan_run(name, threads=UNPLAYABLE))
            if made.is_done:
                run = json.loads(made.text)["id"]
                for action in ("approve_run", "stop_run", "purge_run"):
                    await self.send(people.plan(action, run))

    async def send(self, planned: PlannedCommand) -> SentCommand:
        """Sends one command, repeated with the same key until it is answered."""
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
        """Runs workers, people and other activities for the length of the block."""
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
        """Audits each server, while nobody is active; all must say the same."""
        found = []
        for member in self.members:
            with self.calling_only(member):
                found.append(await self.fleet.audit(self.target.dsn))
        assert len({(each.wrong, each.games, each.tasks) for each in found}) == 1, found
        return found[0]

    @contextmanager
    def calling_only(self, member: Member) -> Iterator[None]:
        """Lets the fleet call only this server for the length of the block."""
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
    """Starts `count` servers with runs to play."""
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
