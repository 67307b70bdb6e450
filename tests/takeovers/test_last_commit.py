"""A server of the last commit's code and one of this code, on one database: whichever is primary,
the other forwards to it, hears of its changes, and takes over from it without a call that fails.
What they send one another may change with any commit, not with those of the schema alone."""

import asyncio
import os
import re
import time
from pathlib import Path

import asyncpg
import pytest

from rookery.core.client.client import Client
from rookery.core.model.plan import Modification
from tests.faults.serving import count_corrections, wait_for_port
from tests.faults.test_events import Reading
from tests.faults.upgrading import (
    HistoryMissing,
    Upgrading,
    Version,
    check_out,
    farm_of,
    find_last_commit,
    is_shallow,
)
from tests.rookery_process import LIMIT_SECONDS, RookeryProcess
from tests.submissions import body
from tests.takeovers.test_instances import role_of
from tests.takeovers.test_upgrade import run

pytestmark = pytest.mark.anyio

FIGURE = re.compile(
    r"^rookery_(other_instances|activity_age_seconds|events_gaps_total) (\S+)$", re.MULTILINE
)
MOST_GAPS = 2
"""Times that a server asks the rows for what nobody told it: after a takeover, or where a notice
came late. Notices that it can't read are several a second."""
GAMES = 100
BEHIND_A_PROXY = {"ROOKERY_TRUSTED_PROXIES": "127.0.0.1"}
STRANGERS = "SELECT count(*) FROM tasks WHERE machine ->> 'address' NOT LIKE '10.%'"
"""Tasks of workers whose address the primary did not learn: the simulated ones call from
10.0.0.0/8, by what they say a proxy before them has found out."""


async def test_the_last_commits_server_and_this_one_forward_and_hand_over_both_ways(
    tmp_path: Path, may_block_the_loop: None, files_in_a_folder: None
) -> None:
    before = await asyncio.to_thread(check_out_last_commit, tmp_path / "before")
    async with farm_of(before, tmp_path, runs=4, more=BEHIND_A_PROXY) as farm:
        async with farm.fleet.at_work(12):
            old, new = farm.servers[0], await farm.start(Version())
            await wait_for_port(new)
            await work_through(farm, primary=old, secondary=new)
            await hand_over(farm, Version(), old, new)
            await work_through(farm, primary=new, secondary=old)
            await hand_over(farm, before, new, old)
            await farm.fleet.wait_for_games(GAMES)
        audit = await farm.audit()
        assert (audit.wrong, farm.fleet.lines.refused) == ((), 0)
        assert await count(farm, STRANGERS) == 0
        assert [each["event"] for server in (old, new) for each in errors_of(server)] == []
        assert await asyncio.to_thread(count_corrections, farm.data) == 0


def check_out_last_commit(folder: Path) -> Version:
    """Of a shallow clone, or of a copy without any history, there is nothing to be had; a CI that
    has the history must not leave this test out."""
    try:
        return check_out(find_last_commit(), folder)
    except HistoryMissing as missing:
        if "CI" in os.environ and not is_shallow():
            raise
        pytest.skip(str(missing))


async def work_through(
    farm: Upgrading, *, primary: RookeryProcess, secondary: RookeryProcess
) -> None:
    """Workers call the secondary alone. Events of both tell of a person's commands, whichever of
    the two they were given to; and each knows of the other and of what the primary published."""
    assert await asyncio.to_thread(role_of, primary) == "primary"
    await farm.follow(secondary)
    before = await asyncio.to_thread(figures_of, secondary)
    token = farm.fleet.account.token
    made = await asyncio.to_thread(command_through_both, token, primary, secondary)
    farm.fleet.runs.append(made)
    after = await asyncio.to_thread(wait_for_figures, primary, secondary)
    assert after["events_gaps_total"] - before["events_gaps_total"] <= MOST_GAPS
    assert await asyncio.to_thread(role_of, secondary) == "secondary"


def command_through_both(token: str, primary: RookeryProcess, secondary: RookeryProcess) -> str:
    """Gives the run that it made, which workers begin to play."""
    clients = [Client.at(server.address, token) for server in (primary, secondary)]
    run = clients[1].submit(body(num_games=1000)).id
    readings = [Reading(server.address, f"?run={run}") for server in (primary, secondary)]
    for priority, client in enumerate(clients, 7):
        client.modify(run, Modification(priority=priority))
        for reading in readings:
            reading.until(lambda told: told.priority == priority)  # noqa: B023 - called at once
    return run


def figures_of(server: RookeryProcess) -> dict[str, float]:
    return {name: float(value) for name, value in FIGURE.findall(server.get("/metrics")[1])}


def wait_for_figures(primary: RookeryProcess, secondary: RookeryProcess) -> dict[str, float]:
    """Until both know of one another, and the secondary of what the primary published; those of
    the secondary."""
    deadline = time.monotonic() + LIMIT_SECONDS
    while True:
        here, there = figures_of(primary), figures_of(secondary)
        others = {each["other_instances"] for each in (here, there)}
        if others == {1} and there["activity_age_seconds"] > 0:
            return there
        assert time.monotonic() < deadline, (here, there)
        time.sleep(0.1)


async def hand_over(
    farm: Upgrading, told_by: Version, primary: RookeryProcess, successor: RookeryProcess
) -> None:
    """The primary is told by the command of a version to step down, and answers all calls that
    come to it meanwhile."""
    await farm.follow(primary)
    code, said = await asyncio.to_thread(run, told_by, "step-down", settings=farm.settings)
    assert code == 0, said
    await farm.fleet.wrote_again()
    assert await asyncio.to_thread(role_of, successor) == "primary"


async def count(farm: Upgrading, sql: str) -> int:
    connection = await asyncpg.connect(**farm.target.connect_args)
    try:
        return int(await connection.fetchval(sql))
    finally:
        await connection.close()


def errors_of(server: RookeryProcess) -> list[dict[str, object]]:
    return [each for each in server.events() if each["level"] == "error"]
