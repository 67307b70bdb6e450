"""`rookery status` and `rookery step-down`: the servers on one database, found through the
database."""

import asyncio
from dataclasses import asdict
from typing import Annotated

from rookery.core.command import AsJson, Column, option, print_json, print_table
from rookery.server.commands.db import THE_DATABASE, Database, DatabaseSettings, open_database
from rookery.server.db.lease import Lease, LeaseRow
from rookery.server.servers.instances import (
    Instance,
    InstanceRows,
    NoStepDown,
    StepDown,
    check_step_down,
    check_taken_over,
)

WAIT_SECONDS = 15.0


def _ago(each: object) -> str:
    assert isinstance(each, Instance)
    return f"{each.silent_seconds:.0f} s ago" if each.is_alive else "SILENT"


COLUMNS: tuple[Column, ...] = (
    ("NAME", "{.name}"),
    ("ROLE", "{.role}"),
    ("HEARD", _ago),
    ("VERSION", "{.version}"),
    ("SCHEMA", "{.schema}"),
    ("ADDRESS", "{.address}"),
    ("LOOP LAG", lambda each: f"{1000 * each.figures.loop_lag_seconds:.0f} ms"),
    ("EVENTS BEHIND", "{.figures.commits_behind}"),
    ("COMMIT QUEUE", "{.figures.changes_waiting}"),
    ("REQUESTS", "{.figures.requests}"),
    ("STREAMS", "{.figures.streams}"),
    ("CLOCK", "{.figures.clock}"),
)


async def status(*, json: AsJson = False, database: DatabaseSettings = THE_DATABASE) -> int:
    """Show the servers on the database: who is primary, versions, lag and queues.

    The exit code is 1 while there is no primary.
    """
    async with open_database(database) as opened:
        lease, found = await _lease(opened).read(), await _instances(opened).list_all()
    if json:
        print_json({"primary": asdict(lease), "instances": [asdict(each) for each in found]})
        return 0 if lease.live else 1
    holder = f"{lease.holder} at {lease.address}" if lease.live else "nobody"
    print(f"primary: {holder} (epoch {lease.epoch})")
    print_table(COLUMNS, found)
    return 0 if lease.live else 1


async def step_down(
    *,
    to: Annotated[str, option("the server to make primary (default: any)", "NAME")] = "",
    database: DatabaseSettings = THE_DATABASE,
) -> int:
    """Make another server the primary. No call fails; calls wait a moment.

    examples:

      rookery step-down
      rookery step-down --to farm2-1a2b3c4d
    """
    async with open_database(database) as opened:
        lease, rows = _lease(opened), _instances(opened)
        before = await lease.read()
        check_step_down(before, await rows.list_all(), to)
        await rows.ask_step_down(StepDown(before.holder, to))
        after = await _wait_for_another(lease, before)
    check_taken_over(before.holder, after.holder, to)
    print(f"{after.holder} is primary now, at {after.address}.")
    return 0


async def _wait_for_another(lease: Lease, before: LeaseRow) -> LeaseRow:
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            return await lease.wait_for_next(before.epoch)
    except TimeoutError:
        raise NoStepDown(f"{before.holder} has not stepped down; its log may say why.") from None


def _instances(opened: Database) -> InstanceRows:
    return InstanceRows(opened.pool, opened.queries)


def _lease(opened: Database) -> Lease:
    return Lease(opened.pool, opened.queries, instance="command", address="")
