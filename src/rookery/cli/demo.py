"""`rookery demo`: a farm filled with invented data, to look at pages and to measure them."""

import asyncio
from collections import deque
from collections.abc import Iterable, Iterator
from random import Random
from typing import Annotated

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from rookery.boundary.offload import Threads
from rookery.cli.db import THE_DATABASE, Database, DatabaseSettings, open_database
from rookery.cli.options import BadArgument, command_group, option
from rookery.db.lease import Lease, LeaseHeld, hold_primacy
from rookery.errors import Complaint
from rookery.farm.engines import EngineRows
from rookery.farm.seeding import FarmSeed, SeedSize, invent_engines, invent_users, read_ideas
from rookery.farm.seeding_files import invent_games, invent_log
from rookery.farm.statistics import Accounting
from rookery.farm.statistics_rows import Statistics
from rookery.farm.store import open_fleet_store
from rookery.files.games import GameRows, GameStore
from rookery.files.places import open_files
from rookery.files.worker_logs import LogRows, LogStore
from rookery.logs import SilentLog
from rookery.model.events import SYSTEM
from rookery.protocol.v1 import EngineVersion
from rookery.rules.answers import Changes, HeldTask

PASSWORD = "rookery-demo-farm"  # noqa: S105 - told to everybody who seeds a demo

RUNS_WITH_FILES = 20
TASKS_WITH_GAMES = 2
GAMES_OF_A_TASK = 8

demo = command_group(
    "demo",
    "Fill an empty farm with invented data.",
    "  rookery demo seed --runs 200 --machines 10000 --history 1000 --data ./demo",
)


@demo.command
async def seed(
    *,
    runs: Annotated[int, option("unfinished runs", "N")] = 200,
    machines: Annotated[int, option("machines that play them", "N")] = 10_000,
    history: Annotated[int, option("finished runs", "N")] = 1000,
    chance: Annotated[int, option("the same number gives the same history", "N")] = 1,
    database: DatabaseSettings = THE_DATABASE,
) -> None:
    """Write people, machines and runs as if months had been played; no server may be running.

    Everybody's password is printed. Start the farm afterwards with `rookery serve --data ...`.
    """
    if min(runs, machines, history) < 0:
        raise BadArgument("The numbers of runs, machines and finished runs can't be negative.")
    async with open_database(database, create=True) as opened:
        await _refuse_used(opened)
        await Threads().io(read_ideas)
        await _add_people(opened)
        size = SeedSize(runs, machines, history)
        farm = FarmSeed(Random(chance), opened.accounts.clock.now(), size)  # noqa: S311 - no secret
        await _write(opened, farm, Random(chance))  # noqa: S311 - no secret
    print(f"Wrote {history:,} finished runs and {runs:,} others with {machines:,} machines.")
    print(f"Log in as alva, an approver, or birk; everybody's password is {PASSWORD}")


async def _refuse_used(opened: Database) -> None:
    """A farm that has runs is somebody's."""
    if await opened.pool.fetchval(opened.queries["runs_exist"]):
        raise Complaint("There are runs in this database already; a demo needs an empty one.")


async def _add_people(opened: Database) -> None:
    accounts = opened.accounts
    password_hash = await accounts.passwords.hash(PASSWORD)
    for user in invent_users(accounts.clock.now(), password_hash):
        if await accounts.users.by_name(user.name) is None:
            await accounts.users.add(user)
    engines = EngineRows(opened.pool, opened.queries)
    for record in invent_engines():
        await engines.save(
            EngineVersion(record=record, changed=accounts.clock.now(), changed_by=SYSTEM)
        )


async def _write(opened: Database, farm: FarmSeed, chance: Random) -> None:
    """In slices, through the group commit that real results go through."""
    latest: deque[Changes] = deque(maxlen=RUNS_WITH_FILES)
    lease = Lease(opened.pool, opened.queries, instance="demo", address="")
    embedded = opened.settings.database_url is None
    try:
        async with (
            hold_primacy(lease, force=embedded),
            open_fleet_store(opened.pool, opened.queries, lease) as store,
        ):
            commits = await store.take()
            for changes in _told(farm):
                # Drawing a run takes a moment, which nobody else waits for here.
                await commits.wait_committed(commits.put(changes))
                await asyncio.sleep(0)
                if changes.runs[0].status.finished or len(latest) < RUNS_WITH_FILES:
                    latest.append(changes)
            await _write_files(opened, latest, chance)
            statistics = Statistics(opened.pool, opened.queries)
            await Accounting(statistics, store.reads, opened.accounts.clock)()
    except LeaseHeld as held:
        raise Complaint(f"A server is running on this database: {held}") from held


async def _write_files(opened: Database, latest: Iterable[Changes], chance: Random) -> None:
    """Games of the latest runs, and logs of what failed in them."""
    threads, clock = Threads(), opened.accounts.clock
    place = await threads.io(open_files, opened.settings, threads, clock, SilentLog())
    games = GameStore(GameRows(opened.pool, opened.queries), place.blobs("games"), threads, clock)
    logs = LogStore(LogRows(opened.pool, opened.queries), place.blobs("logs"), threads, clock)
    for changes in latest:
        played = [task for task in changes.tasks if task.results.games][-TASKS_WITH_GAMES:]
        for task in played:
            packed = invent_games(chance, changes.runs[0], GAMES_OF_A_TASK)
            await games.upload(task, packed)
        by_number = {task.id: task for task in changes.tasks}
        for failure in changes.events:
            if failure.task in by_number:
                task = by_number[failure.task]
                call = HeldTask(task.run, task.id, task.machine)
                await logs.store(call, "/api/failed_task", invent_log(failure))


def _told(farm: FarmSeed) -> Iterator[Changes]:
    """Shows on a terminal how far it has come."""
    columns = (TextColumn("Writing runs"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task("runs", total=farm.size.runs + farm.size.history)
        for changes in farm.invent_runs():
            yield changes
            progress.advance(task)
