"""Servers and their database on hosts of their own, under a fleet on another one: the lines between
them are cut."""

import asyncio
import contextlib
import random
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import asyncpg
import httpx

from tests.faults.lan import CUT, Lan, lan
from tests.faults.serving import end_servers, made_account
from tests.faults.several_servers import SpreadConnections
from tests.faults.standby import DATABASE, IN_STEP, PORT, USER, Node, run
from tests.faults.woken import HeldTasks, WokenQuestions
from tests.fleet.connections import COMMITTED, Answer
from tests.fleet.fleet import SimulatedFleet
from tests.fleet.ledger import Key
from tests.fleet.moments import Acknowledged, Sent, find_wrong, read_rows
from tests.rookery_process import COMMAND, LIMIT_SECONDS, SIMULATED, RookeryProcess

DATABASE_HOST, CLIENTS = "database", "clients"
LEASE = "SELECT address FROM lease WHERE expires_at > clock_timestamp()"
NEXT_TASK = """
SELECT next.run, next.id
FROM tasks AS ended JOIN tasks AS next
    ON next.machine ->> 'unique_key' = ended.machine ->> 'unique_key'
    AND next.created > ended.created
WHERE ended.run = $1 AND ended.id = $2
ORDER BY next.created
LIMIT 1
"""
LOOK_SECONDS = 0.05
PROBE_SECONDS = 0.5


def database_url(address: str) -> str:
    return f"postgresql://{USER}@{address}:{PORT}/{DATABASE}"


class CallTimes:
    """How long the calls that need a commit take; receives all calls."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self._sent: dict[tuple[str, str], float] = {}

    def note_sent(self, path: str, body: bytes, client: str) -> None:
        del body
        self._sent[path, client] = time.monotonic()

    def note_answer(self, path: str, body: bytes, client: str, answer: Answer) -> None:
        del body, answer
        if path in COMMITTED:
            self.seconds.append(time.monotonic() - self._sent[path, client])


@dataclass(slots=True)
class Partitioned:
    """The network, its servers by the names of their hosts, and the fleet."""

    net: Lan
    node: Node
    fleet: SimulatedFleet
    lines: SpreadConnections
    looking: "asyncpg.Connection[asyncpg.Record]"
    """A connection by the database's socket, which no line is part of."""
    by_socket: str
    """The database's address by its socket."""
    questions: WokenQuestions
    servers: dict[str, RookeryProcess] = field(default_factory=dict)
    compared: int = 0

    def port_of(self, name: str) -> int:
        return int(self.servers[name].address.rpartition(":")[2])

    async def start(self, name: str, folder: Path) -> None:
        host = self.net.hosts[name]
        settings = SIMULATED | {
            "ROOKERY_DATABASE_URL": database_url(self.net.hosts[DATABASE_HOST].address),
            "ROOKERY_ALLOWED_HOSTS": "localhost",
            "ROOKERY_TRUSTED_PROXIES": self.net.hosts[CLIENTS].address,
        }
        words, command = ("serve", f"--host={host.address}"), (*host.prefix, *COMMAND)

        def begin() -> RookeryProcess:
            return RookeryProcess(words, folder / name, command, detect=False, settings=settings)

        self.servers[name] = await asyncio.to_thread(begin)
        await asyncio.to_thread(self.servers[name].until, "ready")
        self.lines.hosts[self.port_of(name)] = host.address

    async def find_primary(self) -> str:
        """The name of the primary's host; empty while there is none."""
        address = str(await self.looking.fetchval(LEASE))
        found = [name for name in self.servers if address.endswith(f":{self.port_of(name)}")]
        return found[0] if found else ""

    async def cut(self, pairs: Sequence[tuple[str, str]], seconds: float) -> tuple[str, float]:
        """Cuts these lines for a while; returns who was primary, and the longest time without an
        answer to a call that needs a commit. Servers that were cut off are asked as they come
        back, and no answer may be older than the rows."""
        primary = await self.find_primary()
        async with self.fleet.listening_for_silence() as silence:
            for one, other in pairs:
                self.net.change(one, other, CUT)
            await asyncio.sleep(seconds)
            await self._mend_and_ask({name for pair in pairs for name in pair})
            await self.fleet.wrote_again()
        await self.until_all_answer()
        return primary, silence.seconds

    async def _mend_and_ask(self, names: set[str]) -> None:
        async with contextlib.AsyncExitStack() as stack:
            for name in sorted(names & self.servers.keys()):
                await stack.enter_async_context(self.questions.put_to(self.servers[name].address))
            self.net.mend()

    async def compare(self) -> list[str]:
        """Compares the rows with the ledger while all are active; returns the errors."""
        before = Acknowledged.of(self.fleet.ledger)
        rows = await read_rows(self.looking)
        self.compared += 1
        return find_wrong(rows, before, Sent.of(self.fleet.ledger), self.fleet.ledger)

    async def forget_superseded(self) -> int:
        """Takes those tasks for ended in order that gave way to one that no worker heard of, and
        counts them: a request for work got through a line that was mended, after its machine had
        given it up and asked again, and a machine that asks gives up the task it has."""
        ledger, superseded = self.fleet.ledger, set[Key]()
        for key in ledger.ended:
            row = await self.looking.fetchrow(NEXT_TASK, *key)
            if row is not None and not ledger.given[row["run"], row["id"]]:
                superseded.add(key)
        ledger.ended -= superseded
        return len(superseded)

    async def probe(self) -> None:
        """Maintains the list of servers that answer, as a proxy does."""
        async with httpx.AsyncClient(timeout=1.0, verify=False) as client:
            while True:
                names = tuple(self.servers)
                ready = await asyncio.gather(*(self._is_ready(client, name) for name in names))
                named = zip(names, ready, strict=True)
                self.lines.ports = [self.port_of(name) for name, answers in named if answers]
                await asyncio.sleep(PROBE_SECONDS)

    async def _is_ready(self, client: httpx.AsyncClient, name: str) -> bool:
        try:
            answer = await client.get(f"{self.servers[name].address}/readyz")
        except httpx.HTTPError:
            return False
        return answer.status_code == 200

    async def until_in_step(self) -> None:
        """Waits until every commit waits for the standby."""
        deadline = time.monotonic() + LIMIT_SECONDS
        while not await self.looking.fetchval(IN_STEP):
            assert time.monotonic() < deadline, "the standby is not in step"
            await asyncio.sleep(LOOK_SECONDS)

    async def until_all_answer(self) -> None:
        deadline = time.monotonic() + LIMIT_SECONDS
        while len(self.lines.ports) < len(self.servers) or not await self.find_primary():
            assert time.monotonic() < deadline, "a server does not come back"
            await asyncio.sleep(LOOK_SECONDS)


@asynccontextmanager
async def partitioned(
    folder: Path, count: int, *, runs: int, seed: int, others: Sequence[str] = ()
) -> AsyncIterator[Partitioned]:
    """Starts a database and `count` servers, with hosts for `others`; this process moves to the
    host of the clients."""
    names = [f"server {number}" for number in range(1, count + 1)]
    await asyncio.to_thread(folder.mkdir)
    home = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="rookery-lan-"))
    async with contextlib.AsyncExitStack() as stack:
        stack.callback(shutil.rmtree, home)
        net = stack.enter_context(lan([DATABASE_HOST, *names, CLIENTS, *others], seed=seed))
        net.hosts[CLIENTS].enter()
        host = net.hosts[DATABASE_HOST]
        node = Node(home, "a", host.prefix, host.address)
        stack.callback(node.kill)
        await asyncio.to_thread(start_database, node)
        farm = await _open(stack, net, node, folder, runs, seed)
        stack.push_async_callback(_end, farm)
        for name in names:
            await farm.start(name, folder)
        probing = asyncio.create_task(farm.probe())
        stack.callback(probing.cancel)
        await farm.until_all_answer()
        await farm.fleet.submit(runs)
        farm.questions.runs = tuple(farm.fleet.runs)
        yield farm


def start_database(node: Node) -> None:
    """Makes a cluster with our database; blocks."""
    node.make()
    node.start()
    run("createdb", f"--host={node.socket}", f"--port={PORT}", f"--username={USER}", DATABASE)


async def _open(
    stack: contextlib.AsyncExitStack, net: Lan, node: Node, folder: Path, runs: int, seed: int
) -> Partitioned:
    chance = random.Random(seed)
    by_socket = f"postgresql://{USER}@/{DATABASE}?host={node.socket}&port={PORT}"
    settings = {"ROOKERY_DATABASE_URL": by_socket}
    account = await asyncio.to_thread(made_account, folder / "account", settings=settings)
    lines = SpreadConnections(chance)
    lines.token = account.token
    stack.callback(lines.close)
    fleet, tasks = SimulatedFleet(account, lines), HeldTasks()
    lines.hearers.append(tasks)
    looking, asking = [await asyncpg.connect(by_socket) for _ in range(2)]
    for each in (looking, asking):
        stack.push_async_callback(each.close)
    questions = WokenQuestions(fleet.ledger, tasks, asking, (), chance)
    return Partitioned(net, node, fleet, lines, looking, by_socket, questions)


async def _end(farm: Partitioned) -> None:
    farm.net.mend()
    await end_servers(farm.servers.values())
