"""A planned step-down fails no call: neither of a machine that is kept waiting, nor a command that
is being carried out, whichever server was called."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest

from rookery.server.db.target import Target
from rookery.server.http.forwarding import PATIENCE_SECONDS
from tests.commands import PASSWORD, run_command
from tests.eventually import eventually
from tests.faults.playing_by_hand import NAME, make_token, submit_run
from tests.rookery_process import LIMIT_SECONDS, RookeryProcess
from tests.submissions import SPRT, body
from tests.takeovers.test_instances import two_servers
from tests.wire.worker.farm import worker_info

pytestmark = pytest.mark.anyio

PRIMARY, SECONDARY = "primary", "secondary"
BOTH = pytest.mark.parametrize("called", [PRIMARY, SECONDARY])
LOOK_SECONDS = 0.05
STREAMS = "rookery_streams_open"
"""Whoever is kept waiting is one."""
STUCK = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
DONE = "SELECT count(*) FROM actions WHERE action = 'new_run'"


@dataclass(frozen=True, slots=True)
class TwoServers:
    """By what they were at first, and somebody who may submit and has machines."""

    servers: dict[str, RookeryProcess]
    token: str
    calls: httpx.AsyncClient
    database: Target
    folder: Path

    def ask_for_task(self, called: str, key: str) -> "asyncio.Task[httpx.Response]":
        info = worker_info(NAME, key, nps=6e5)
        said = {"password": PASSWORD, "worker_info": info, "rookery": {"wait": 45}}
        address = f"{self.servers[called].address}/api/request_task"
        return asyncio.create_task(self.calls.post(address, json=said))

    def submit(self, called: str) -> "asyncio.Task[httpx.Response]":
        headers = {"authorization": f"Bearer {self.token}"}
        address = f"{self.servers[called].address}/api/v1/runs"
        return asyncio.create_task(
            self.calls.post(address, json=body(sprt=SPRT, num_games=None), headers=headers)
        )

    async def until_waiting(self, called: str, number: int) -> None:
        await eventually(lambda: self._streams(called) == number)

    def _streams(self, called: str) -> float:
        status, text = self.servers[called].get("/metrics")
        assert status == 200, text
        lines = [line for line in text.splitlines() if line.startswith(STREAMS)]
        return float(lines[0].split()[-1])

    async def step_down(self) -> None:
        settings = {"ROOKERY_DATABASE_URL": self.database.dsn}
        done = await asyncio.to_thread(
            run_command, "step-down", data=self.folder, settings=settings
        )
        assert done.returncode == 0, done.stderr


@asynccontextmanager
async def open_servers(database: Target, folder: Path) -> AsyncIterator[TwoServers]:
    token = make_token(folder / "command", database)
    with two_servers(database, folder) as (first, second):
        async with httpx.AsyncClient(timeout=LIMIT_SECONDS) as calls:
            servers = {PRIMARY: first, SECONDARY: second}
            yield TwoServers(servers, token, calls, database, folder / "command")


async def until_stuck(looking: "asyncpg.Connection[asyncpg.Record]") -> None:
    deadline = time.monotonic() + LIMIT_SECONDS
    while not await looking.fetchval(STUCK):
        assert time.monotonic() < deadline, "nobody waits for the rows"
        await asyncio.sleep(LOOK_SECONDS)


def read_answer(response: httpx.Response) -> dict[str, Any]:
    assert response.status_code == 200, response.text
    return dict(json.loads(response.text))


async def test_machines_that_are_kept_waiting_get_work_from_the_next_primary(
    database: Target, tmp_path: Path, may_block_the_loop: None
) -> None:
    """Also when that was for longer than a call waits for a primary."""
    async with open_servers(database, tmp_path) as two:
        asked = [two.ask_for_task(PRIMARY, "1" * 8), two.ask_for_task(SECONDARY, "2" * 8)]
        await two.until_waiting(PRIMARY, 2)
        await asyncio.sleep(PATIENCE_SECONDS + 0.5)
        await two.step_down()
        await two.until_waiting(SECONDARY, 2)
        run = await asyncio.to_thread(submit_run, two.servers[PRIMARY].address, two.token)
        answers = [read_answer(each) for each in await asyncio.gather(*asked)]
        assert [each["run"]["_id"] for each in answers] == [run, run]


@BOTH
async def test_a_machine_that_is_kept_waiting_by_a_server_that_ends_is_told_in_order(
    called: str, database: Target, tmp_path: Path, may_block_the_loop: None
) -> None:
    async with open_servers(database, tmp_path) as two:
        asked = two.ask_for_task(called, "1" * 8)
        await two.until_waiting(called, 1)
        assert await asyncio.to_thread(two.servers[called].stop) == 0
        assert read_answer(await asked)["task_waiting"] is False


@BOTH
async def test_a_command_under_way_is_carried_out_once_by_the_next_primary(
    called: str, database: Target, tmp_path: Path, may_block_the_loop: None
) -> None:
    """It has to wait for the rows of tokens while the servers change places."""
    connection = await asyncpg.connect(**database.connect_args)
    try:
        async with open_servers(database, tmp_path) as two:
            async with connection.transaction():
                await connection.execute("LOCK TABLE tokens IN ACCESS EXCLUSIVE MODE")
                submitted = two.submit(called)
                await until_stuck(connection)
                await two.step_down()
            response = await submitted
            assert response.status_code == 201, response.text
            assert await connection.fetchval(DONE) == 1
    finally:
        await connection.close()


async def test_a_command_under_way_at_a_server_that_ends_is_carried_out_by_the_next_primary(
    database: Target, tmp_path: Path, may_block_the_loop: None
) -> None:
    connection = await asyncpg.connect(**database.connect_args)
    try:
        async with open_servers(database, tmp_path) as two:
            ending = two.servers[PRIMARY]
            async with connection.transaction():
                await connection.execute("LOCK TABLE tokens IN ACCESS EXCLUSIVE MODE")
                submitted = two.submit(PRIMARY)
                await until_stuck(connection)
                stopped = asyncio.create_task(asyncio.to_thread(ending.stop))
                await asyncio.to_thread(ending.until, "stepped_down")
            response = await submitted
            assert response.status_code == 201, response.text
            assert await stopped == 0
            assert await connection.fetchval(DONE) == 1
    finally:
        await connection.close()
