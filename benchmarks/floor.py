"""The floor of a worker's call: a raw asyncio protocol that decodes the same bodies with msgspec
and answers, without rules, accounts, limits or logs.

A report and a request for a task are answered when a round has written the rows of the task and its
run, in one statement on a connection to the same PostgreSQL. So this is what a durable answer costs
at least, on this driver and in Python.
"""

import asyncio
from collections.abc import Iterable
from pathlib import Path

import asyncpg

from rookery.core.protocol import worker_requests
from rookery.server.db.embedded.cluster import USER
from rookery.server.db.embedded.folder import PORT, Layout, recorded
from rookery.server.db.target import socket_target

RUNS = 20
PAUSE_SECONDS = 0.012
"""The pause between two rounds, as Rookery makes it."""
DATABASE = "floor"
TABLES = """
    CREATE TABLE tasks (run text, id integer, counts text, PRIMARY KEY (run, id));
    CREATE TABLE runs (run text PRIMARY KEY, counts text)
"""
ROUND = """
    WITH t AS (
        INSERT INTO tasks
        SELECT * FROM unnest($1::text::text[], $2::text::integer[], $3::text::text[])
        ON CONFLICT (run, id) DO UPDATE SET counts = excluded.counts
    ),
    r AS (
        INSERT INTO runs SELECT * FROM unnest($4::text::text[], $5::text::text[])
        ON CONFLICT (run) DO UPDATE SET counts = excluded.counts RETURNING 1
    )
    SELECT count(*) FROM r
"""
ALIVE = b'{"task_alive":true,"duration":0.0}'
VERSION = b'{"version":325,"duration":0.0}'
GRANT = b'{"run":{"_id":"%b","my_task":{"num_games":10000}},"task_id":%d,"duration":0.0}'
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b"

Counts = tuple[int, ...]
NOTHING: Counts = (0,) * 10


class Floor:
    """The rows that the next round writes, and the answers that wait for it."""

    def __init__(self) -> None:
        self.tasks: dict[tuple[str, int], Counts] = {}
        self.runs: dict[str, Counts] = {}
        self.waiting: list[tuple[asyncio.Transport, bytes]] = []
        self.due = asyncio.Event()
        self._given = 0

    def answer(self, path: bytes, body: bytes) -> tuple[bytes, bool]:
        """The body of the answer, and whether it waits for a round."""
        if path == b"/api/update_task":
            report = worker_requests.UPDATE_TASK.read(body)
            self._put(report.run_id, report.task_id, _counts(report))
            return ALIVE, True
        if path == b"/api/request_task":
            worker_requests.REQUEST_TASK.read(body)
            self._given += 1
            run = f"{self._given % RUNS:024x}"
            self._put(run, self._given, NOTHING)
            return GRANT % (run.encode(), self._given), True
        if path == b"/api/beat":
            worker_requests.BEAT.read(body)
            return ALIVE, False
        worker_requests.REQUEST_VERSION.read(body)
        return VERSION, False

    def _put(self, run: str, task: int, counts: Counts) -> None:
        self.tasks[run, task] = self.runs[run] = counts

    async def write(self, connection: "asyncpg.Connection[asyncpg.Record]") -> None:
        """Writes rounds for ever."""
        statement = await connection.prepare(ROUND)
        while True:
            await self.due.wait()
            self.due.clear()
            tasks, runs, waiting = self.tasks, self.runs, self.waiting
            self.tasks, self.runs, self.waiting = {}, {}, []
            await statement.fetchval(
                _array(run for run, _ in tasks),
                _array(str(task) for _, task in tasks),
                _array(_text(each) for each in tasks.values()),
                _array(runs),
                _array(_text(each) for each in runs.values()),
            )
            for transport, answer in waiting:
                transport.write(answer)
            await asyncio.sleep(PAUSE_SECONDS)


def _counts(report: worker_requests.UpdateTask) -> Counts:
    found = report.stats
    outcomes = found.wins, found.losses, found.draws, found.crashes, found.time_losses
    return *outcomes, *found.pentanomial


def _text(counts: Counts) -> str:
    return " ".join(map(str, counts))


def _array(texts: Iterable[str]) -> str:
    return '{"' + '","'.join(texts) + '"}'


class Line(asyncio.Protocol):
    """A connection that is kept, with one call at a time."""

    def __init__(self, floor: Floor) -> None:
        self._floor = floor
        self._received = b""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received = self._received + data if self._received else data
        head, found, body = self._received.partition(b"\r\n\r\n")
        if not found or len(body) < int(head.split(b"content-length: ")[1].split(b"\r\n")[0]):
            return
        self._received = b""
        answer, waits = self._floor.answer(head.split(b" ", 2)[1], body)
        whole = HEAD % (len(answer), answer)
        if waits:
            self._floor.waiting.append((self._transport, whole))
            self._floor.due.set()
        else:
            self._transport.write(whole)


async def serve(port: int, data: Path) -> None:
    """Serves until it is ended, beside a Rookery that serves this data folder."""
    folder = recorded(Layout(data))
    assert folder is not None
    floor, server = Floor(), socket_target(str(folder), PORT, USER, "postgres")
    connection = await asyncpg.connect(**server.connect_args)
    await connection.execute(f"CREATE DATABASE {DATABASE}")
    await connection.close()
    own = socket_target(str(folder), PORT, USER, DATABASE)
    connection = await asyncpg.connect(**own.connect_args)
    await connection.execute(TABLES)
    loop = asyncio.get_running_loop()
    await loop.create_server(lambda: Line(floor), "127.0.0.1", port, backlog=4096)
    await floor.write(connection)
