"""A farm with 100,000 active tasks is taken over: how long until its workers are answered again.

    scripts/prove restart [--tasks N] [--runs N] [--ended N] [--lines N]

The rows are written directly, with some ended tasks beside each active one. Two servers share the
database; the primary is killed, and each task calls until it is answered: nine of ten with a beat,
one with a report. Seconds count from the moment at which the other server has taken the fence.
Holds if the first call is answered within 5 s and all of them within 15, and each report is in the
rows.
"""

import asyncio
import json
import sys
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import asyncpg
import msgspec
import uvloop

from rookery.core.model.machine import Machine, WorkerInfo
from rookery.core.model.run import Run
from rookery.core.model.task import Task, recounted
from rookery.server.db.lease import Lease
from rookery.server.db.pool import Queries, open_pool
from rookery.server.db.target import Target
from rookery.server.farm.store import FleetStore
from scripts.progress import Progress
from scripts.proof import option, read_options, run
from tests.database import running
from tests.faults.serving import PASSWORD, end_servers, made_account, start_server, wait_for_port
from tests.makers import NOW, make_run, pairs, sprt
from tests.rookery_process import SIMULATED
from tests.storage.farm.stores import changed
from tests.wire.worker.farm import stats, worker_info

USER = "fleet"
FIRST_SECONDS, ALL_SECONDS = 5.0, 15.0
GIVE_UP_SECONDS = 120.0
AGAIN_SECONDS = 0.2
"""A worker that was told to come again waits longer."""
GAMES = 1_000
PLAYED = pairs(even=4)
REPORTS = 10
"""One of so many calls is a report."""
ENDED = """
    INSERT INTO tasks (
        run, id, start, games, machine, created, reported, wins, losses, draws, crashes,
        time_losses, p0, p1, p2, p3, p4, active, bad, too_fast
    )
    SELECT
        run, id + copy * $1, start, games, machine, created, reported, 0, 0, 8, 0,
        0, 0, 0, 4, 0, 0, false, false, false
    FROM tasks CROSS JOIN generate_series(1, $2) AS copy
"""
COUNTED = """
    UPDATE runs SET
        tasks = s.tasks, total = s.total, committed = s.committed, draws = s.draws, p2 = s.p2
    FROM (
        SELECT
            run, count(*) AS tasks, sum(games) AS total, sum(draws) AS draws, sum(p2) AS p2,
            sum(CASE WHEN active THEN games ELSE draws END) AS committed
        FROM tasks GROUP BY run
    ) AS s
    WHERE s.run = runs.id
"""


@dataclass(frozen=True, slots=True)
class Wanted:
    tasks: int = option(100_000, "active tasks")
    runs: int = 1_000
    ended: int = option(4, "ended tasks beside each active one")
    lines: int = option(64, "connections of the workers")

    @property
    def each(self) -> int:
        """The active tasks of a run."""
        return self.tasks // self.runs


# The rows


async def write_farm(target: Target, wanted: Wanted) -> None:
    queries, told = Queries.load(), Progress(wanted.runs, "runs written")
    async with open_pool(target, instance="seed") as pool:
        lease = Lease(pool, queries, instance="seed", address="")
        store = FleetStore(pool, queries, lease)
        commits = await store.take()
        for number in range(wanted.runs):
            made, tasks = make_played_run(number, wanted.each)
            await commits.wait_committed(commits.put(changed(made, *tasks)))
            told.tell(number + 1)
        await store.close()
        await lease.release()
    connection = await asyncpg.connect(**target.connect_args)
    await connection.execute(ENDED, wanted.each, wanted.ended)
    await connection.execute(COUNTED)
    await connection.execute("VACUUM ANALYZE")
    await connection.close()


def make_played_run(number: int, tasks: int) -> tuple[Run, tuple[Task, ...]]:
    made = replace(make_run(kind=sprt()), id=f"{number:024x}")
    given = tuple(make_task(made, number * tasks, each) for each in range(tasks))
    return replace(made, tally=recounted(given)), given


def make_task(of: Run, first: int, number: int) -> Task:
    machine = msgspec.convert(worker_info(USER, f"{first + number:08x}"), WorkerInfo)
    fields = msgspec.structs.asdict(machine)
    return Task(of.id, number, number * GAMES, GAMES, Machine(**fields), NOW, NOW)


# The workers


def list_calls(wanted: Wanted) -> Iterator[bytes]:
    """A beat or a report of each task, in an order that has all runs from the beginning."""
    for task in range(wanted.each):
        for number in range(wanted.runs):
            info = worker_info(USER, f"{number * wanted.each + task:08x}")
            ids = {"run_id": f"{number:024x}", "task_id": task}
            said = {"password": PASSWORD, "worker_info": info, **ids}
            if (number + task) % REPORTS:
                yield request("beat", json.dumps(said))
            else:
                yield request("update_task", json.dumps(said | {"stats": stats(PLAYED)}))


def request(name: str, body: str) -> bytes:
    return (
        f"POST /api/{name} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\n\r\n{body}"
    ).encode()


@dataclass(slots=True)
class Callers:
    """The calls that are not answered yet, and when the others were."""

    waiting: deque[bytes]
    total: int
    answered: list[float] = field(default_factory=list)
    refused: int = 0
    over: asyncio.Event = field(default_factory=asyncio.Event)

    def note_answer(self) -> None:
        self.answered.append(time.monotonic())
        if len(self.answered) == self.total:
            self.over.set()

    def note_refusal(self, call: bytes) -> None:
        self.refused += 1
        self.waiting.append(call)


class Line(asyncio.Protocol):
    """A connection that sends the next call when the last one was answered."""

    def __init__(self, callers: Callers) -> None:
        self._callers = callers
        self._call = self._received = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport
        self._send()

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, found, body = self._received.partition(b"\r\n\r\n")
        if not found or len(body) < int(head.lower().split(b"content-length: ")[1].split()[0]):
            return
        self._received = b""
        if b" 200 " in head[:16]:
            assert b'"task_alive":true' in body, body
            self._callers.note_answer()
            self._send()
        else:
            self._callers.note_refusal(self._call)
            asyncio.get_running_loop().call_later(AGAIN_SECONDS, self._send)

    def _send(self) -> None:
        assert self._transport is not None
        if self._callers.waiting:
            self._call = self._callers.waiting.popleft()
            self._transport.write(self._call)


# The takeover


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a takeover."""

    unled: float
    """How long after the death of the primary the other server took the fence, in seconds."""
    answered: list[float]
    """When calls were answered, in seconds after that moment."""
    refused: int
    reports: int
    """How many reports the rows have."""

    def within(self, share: float) -> float:
        return self.answered[max(0, round(share * len(self.answered)) - 1)]


async def take_over(target: Target, folder: Path, wanted: Wanted) -> Outcome:
    settings = SIMULATED | {"ROOKERY_DATABASE_URL": target.dsn}
    looking = await asyncpg.connect(**target.connect_args)
    primary = await start_server(folder / "a", settings)
    servers = [primary]
    try:
        await wait_for_port(primary)
        servers.append(await start_server(folder / "b", settings))
        port = await wait_for_port(servers[1])
        epoch = await looking.fetchval("SELECT epoch FROM fence")
        calls = deque(list_calls(wanted))
        callers, killed = Callers(calls, len(calls)), time.monotonic()
        await asyncio.to_thread(primary.kill)
        while await looking.fetchval("SELECT epoch FROM fence") == epoch:  # noqa: ASYNC110 - a row
            await asyncio.sleep(0.01)
        taken = time.monotonic()
        await call_all(port, callers, wanted.lines)
        # The answer to a report comes after its commit.
        reports = await looking.fetchval("SELECT count(*) FROM tasks WHERE active AND draws = 8")
    finally:
        await end_servers(servers)
        await looking.close()
    answered = [each - taken for each in callers.answered]
    return Outcome(taken - killed, answered, callers.refused, reports)


async def call_all(port: int, callers: Callers, lines: int) -> None:
    loop = asyncio.get_running_loop()
    made = [
        await loop.create_connection(lambda: Line(callers), "127.0.0.1", port) for _ in range(lines)
    ]
    async with asyncio.timeout(GIVE_UP_SECONDS):
        await callers.over.wait()
    for transport, _ in made:
        transport.close()


async def prove(wanted: Wanted, folder: Path) -> int:
    with running(folder / "postgres") as target:
        settings = SIMULATED | {"ROOKERY_DATABASE_URL": target.dsn}
        await asyncio.to_thread(made_account, folder / "a", USER, PASSWORD, settings)
        await write_farm(target, wanted)
        found = await take_over(target, folder, wanted)
    reports = sum(not (n + t) % REPORTS for n in range(wanted.runs) for t in range(wanted.each))
    rows = wanted.runs * wanted.each * (1 + wanted.ended)
    print(f"{wanted.runs * wanted.each:,} active tasks of {wanted.runs:,} runs; {rows:,} rows.\n")
    print("| | seconds after the takeover |\n|---|---|")
    for what, share in (("first", 0.0), ("half", 0.5), ("99 of 100", 0.99), ("all", 1.0)):
        print(f"| {what} answered | {found.within(share):.1f} |")
    print(
        f"\nNobody was primary for {found.unled:.1f} s after the kill."
        f" {found.refused:,} calls were told to come again."
        f" {found.reports:,} of {reports:,} reports are in the rows."
    )
    in_time = found.within(0.0) <= FIRST_SECONDS and found.within(1.0) <= ALL_SECONDS
    return 0 if in_time and found.reports == reports else 1


if __name__ == "__main__":
    sys.exit(run(prove, read_options(Wanted, __doc__), on=uvloop.run))
