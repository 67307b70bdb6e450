"""A server with many users and runs for a crowd to play on, with priority for the processor, so
that other activity on the machine does not affect the figures."""

import asyncio
import contextlib
import json
import os
import resource
import subprocess
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg

from rookery.server.db.embedded import folder as sockets
from rookery.server.db.embedded.folder import Layout
from rookery.server.identity.users import WORKER_PREFIX, digest_of
from tests.faults.server_campaign import Campaign, campaign_on
from tests.fleet.crowd import CheapWorker
from tests.fleet.fleet import MANY_GAMES
from tests.fleet.ledger import Ledger
from tests.fleet.usage import Usage, read_usage
from tests.process_table import parent_of, pids, processes_of
from tests.rookery_process import COMMAND
from tests.submissions import SPRT, body

NICE = -15
SLOW = "180+1.8"
"""A time control with games of nine minutes, so that a worker that reports once in 21 minutes is
not stalled."""
HASHES = 'rookery_threads_calls_total{name="hash"}'
PROXY = "127.0.0.1"
ADD_USERS = """
INSERT INTO users (name, email, password_hash, pending, machine_limit, created)
SELECT 'crowd' || number, '', password_hash, false, 1000000, created
FROM users, generate_series(0, $2 - 1) AS number WHERE name = $1
"""

ADD_TOKENS = """
INSERT INTO tokens (id, digest, user_name, scopes, note, created)
SELECT lpad(to_hex(number), 12, '0'), digest, name, '{worker}', '', now()
FROM unnest($1::text[], $2::bytea[]) WITH ORDINALITY AS new (name, digest, number)
"""
PASSWORD, TOKEN = "password", "token"
CREDENTIALS = (TOKEN, PASSWORD)
"""What workers send: their owner's password, or a token of their own as a page hands it out."""


def raise_priority() -> bool:
    """Gives this process and its children priority over all others; False if that is not allowed,
    or if it was started with low priority (`nice`)."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if os.nice(0) > 0:
        return False
    try:
        os.nice(NICE - os.nice(0))
    except PermissionError:
        return False
    raise_session(os.getpid())
    with contextlib.suppress(OSError):
        subprocess.run(["ionice", "-c1", "-n2", f"-p{os.getpid()}"], check=False)
    return True


def is_first() -> bool:
    """Whether this thread has priority; each thread has its own niceness."""
    return os.getpriority(os.PRIO_PROCESS, os.getpid()) < 0


def describe_priority() -> str:
    """Whether the measured processes had priority or not, in words for a report."""
    return "before" if is_first() else "beside"


def use_realtime_scheduling() -> None:
    """Lets the generator run whenever it has something to do, as if on its own machine; called when
    the server runs. Processes that it starts afterwards are ordinary."""
    if is_first():
        policy = os.SCHED_RR | os.SCHED_RESET_ON_FORK
        os.sched_setscheduler(0, policy, os.sched_param(1))


def raise_session(pid: int) -> None:
    """Raises the priority of a process's session, where the kernel distributes the processor by
    session and ignores the niceness of processes."""
    if is_first():
        with contextlib.suppress(OSError):
            Path(f"/proc/{pid}/autogroup").write_text(str(NICE))


def children_of(pid: int) -> set[int]:
    """The child processes of a process's first thread; empty if it is gone."""
    try:
        return set(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))
    except OSError:
        return set()


@dataclass(slots=True)
class Stage:
    """A server with its users, and measurements of it."""

    campaign: Campaign
    users: int
    credentials: str = TOKEN
    postmaster: int = 0

    @property
    def port(self) -> int:
        return self.campaign.fleet.lines.port

    @property
    def ledger(self) -> Ledger:
        return self.campaign.fleet.ledger

    async def workers(self, number: int) -> list[CheapWorker]:
        """Creates workers, one user after the other, so that new users also arrive evenly: their
        passwords must be hashed. With tokens, each worker has its own."""
        users = [f"crowd{each * self.users // number}" for each in range(number)]
        passwords = [self.campaign.fleet.account.password] * number
        if self.credentials == TOKEN:
            passwords = [f"{WORKER_PREFIX}{each:052}" for each in range(number)]
            await add_tokens(self.campaign.data, users, passwords)
        named = enumerate(zip(users, passwords, strict=True))
        return [CheapWorker(each, user, password) for each, (user, password) in named]

    def usage(self) -> Usage:
        server = self.campaign.server
        assert server is not None
        return read_usage(server.process.pid, self.postmaster)

    async def metrics(self) -> dict[str, float]:
        """The server's metrics by name and labels."""
        text = await fetch_metrics(self.port, self.campaign.fleet.account.token)
        lines = (line.rpartition(" ") for line in text.splitlines() if line[:1] != "#")
        return {name: float(value) for name, _, value in lines}

    async def hashes(self) -> int:
        """The number of passwords that this server has hashed since its start."""
        return int((await self.metrics()).get(HASHES, 0))

    async def restart(self) -> float:
        """Restarts server and PostgreSQL from cold; returns how long nothing was answered."""
        server, began = self.campaign.server, time.monotonic()
        assert server is not None
        await asyncio.to_thread(server.end)
        await self.campaign.start()
        took = time.monotonic() - began
        await asyncio.to_thread(self.find_postmaster)
        await asyncio.to_thread(self.raise_priority)
        return took

    def raise_priority(self) -> None:
        """Gives priority to all processes of the server and of PostgreSQL, which starts its own
        sessions."""
        server = self.campaign.server
        assert server is not None
        family = [server.process.pid, *processes_of(self.campaign.data)]
        for pid in {*family, *(pid for pid in pids() if parent_of(pid) == self.postmaster)}:
            raise_session(pid)

    async def keep_first(self) -> None:
        """Also gives priority to processes that PostgreSQL starts for new connections: each starts
        its own session, which would have ordinary priority."""
        raised = set[int]()
        while True:
            await asyncio.sleep(0.2)
            raised = await asyncio.to_thread(self._raise_children, raised)

    def _raise_children(self, raised: set[int]) -> set[int]:
        present = children_of(self.postmaster)
        for pid in present - raised:
            raise_session(pid)
        return present

    def crashes(self) -> list[str]:
        """Crashes, and failures that are never an acceptable answer, since the server was
        started."""
        server = self.campaign.server
        assert server is not None
        ended = server.process.poll()
        found = [] if ended is None else [f"the server ended with {ended}"]
        events = server.events()
        starts = sum(event["event"] == "database_ready" for event in events) - 1
        found += ["PostgreSQL was started again"] * starts
        return found + [str(event) for event in events if event.get("level") == "error"]

    def find_postmaster(self) -> None:
        server = self.campaign.server
        assert server is not None
        ready = [each for each in server.events() if each["event"] == "database_ready"][-1]
        self.postmaster = int(str(ready["postmaster"]))


@asynccontextmanager
async def staged(
    data: Path,
    *,
    users: int,
    runs: int,
    command: Sequence[str] = COMMAND,
    credentials: str = TOKEN,
) -> AsyncIterator[Stage]:
    """Starts a server on the folder, with runs of which every other one is sequential. Workers send
    their owner's password or a token."""
    async with campaign_on(data, runs=0, proxy=PROXY, command=command) as campaign:
        stage = Stage(campaign, users, credentials)
        await asyncio.to_thread(stage.find_postmaster)
        await add_users(data, campaign.fleet.account.name, users)
        await submit(campaign, runs)
        await asyncio.to_thread(stage.raise_priority)
        use_realtime_scheduling()
        keeping = asyncio.create_task(stage.keep_first())
        try:
            yield stage
        finally:
            keeping.cancel()


async def add_users(data: Path, like: str, users: int) -> None:
    """Adds users with the same password as an existing one."""
    async with connected(data) as connection:
        await connection.execute(ADD_USERS, like, users)


async def add_tokens(data: Path, users: Sequence[str], secrets: Sequence[str]) -> None:
    """Adds a token for each of these workers."""
    async with connected(data) as connection:
        await connection.execute(ADD_TOKENS, users, [digest_of(each) for each in secrets])


@asynccontextmanager
async def connected(data: Path) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    """A connection to the database of this folder."""
    folder = await asyncio.to_thread(sockets.recorded, Layout(data))
    connection = await asyncpg.connect(
        host=str(folder), port=sockets.PORT, user="rookery", database="rookery", password=""
    )
    try:
        yield connection
    finally:
        await connection.close()


async def submit(campaign: Campaign, runs: int) -> None:
    fleet = campaign.fleet
    kinds: tuple[dict[str, Any], ...] = (
        {"num_games": MANY_GAMES},
        {"num_games": None, "sprt": SPRT},
    )
    for number in range(runs):
        args = body(new_tag=f"patch{number}", tc=SLOW, **kinds[number % 2])
        made = await fleet.lines.post("/api/v1/runs", json.dumps(args).encode())
        fleet.runs.append(made["id"])


async def fetch_metrics(port: int, token: str) -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"GET /metrics HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n"
    writer.write(f"{head}connection: close\r\n\r\n".encode())
    text = (await reader.read(-1)).decode()
    writer.close()
    return text.partition("\r\n\r\n")[2]
