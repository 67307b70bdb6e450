"""`rookery demo`: a farm filled with invented data, to look at pages and to measure them."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from functools import partial
from random import Random
from typing import Annotated

from msgspec.structs import replace as with_fields
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from rookery.core.boundary.offload import Threads
from rookery.core.command import BadArgument, command_group, option
from rookery.core.errors import Complaint
from rookery.core.model.events import Action
from rookery.core.model.plan import Side
from rookery.core.model.run import Run
from rookery.demo.invented_play import InventedFarm, InventedFleet
from rookery.demo.seeding import FarmSeed, SeedSize, list_commits, read_ideas
from rookery.demo.seeding_files import invent_games, invent_log
from rookery.demo.seeding_notes import invent_review
from rookery.demo.seeding_people import invent_users
from rookery.demo.surroundings import (
    add_chats,
    add_files,
    add_teams_and_engines,
    add_tokens,
    open_channels,
    tell_all,
)
from rookery.server.app.run import run_site
from rookery.server.app.site import Site
from rookery.server.commands.db import THE_DATABASE, Database, DatabaseSettings, open_database
from rookery.server.commands.serve import NOTHING_SET, ServeSettings
from rookery.server.db.lease import Lease, LeaseHeld, hold_primacy
from rookery.server.db.pool import AWAY
from rookery.server.farm.commits import CommitQueue, StateLost
from rookery.server.farm.findings import FindingKind, FindingRows
from rookery.server.farm.rules.answers import Changes, HeldTask
from rookery.server.farm.rules.progress import BranchCommit, chain_progress, summarise_test
from rookery.server.farm.statistics import Accounting
from rookery.server.farm.statistics_rows import Statistics
from rookery.server.farm.store import FleetStore, open_fleet_store
from rookery.server.files.games import GameRows, GameStore
from rookery.server.files.places import FilePlace, open_files
from rookery.server.files.worker_logs import LogRows, LogStore
from rookery.server.identity.users import User
from rookery.server.logs import SilentLog

PASSWORD = "rookery-demo-farm"  # noqa: S105 - told to everybody who seeds a demo

FAILED = (Action.FAILED_TASK, Action.CRASH_OR_TIME)
RUNS_WITH_FILES = 20
ROWS_A_COMMIT = 1_000
"""About how many tasks are written with one wait for the disk."""
TASKS_WITH_GAMES = 2
GAMES_OF_A_TASK = 8

demo = command_group(
    "demo",
    "Fill an empty farm with invented data, and look around in it.",
    """\
  rookery demo seed --runs 200 --machines 10000 --history 1000 --data ./demo
  rookery demo serve --data ./demo""",
)


@demo.command
async def seed(
    *,
    runs: Annotated[int, option("unfinished runs", "N")] = 200,
    machines: Annotated[int, option("machines that play them", "N")] = 10_000,
    history: Annotated[int, option("finished runs", "N")] = 1000,
    chance: Annotated[int, option("random seed: the same number gives the same history", "N")] = 1,
    database: DatabaseSettings = THE_DATABASE,
) -> None:
    """Write people, machines and runs as if months had been played; no server may be running.

    Everybody's password is printed. Start the farm afterwards with `rookery demo serve --data ...`.
    """
    if min(runs, machines, history) < 0:
        raise BadArgument("The numbers of runs, machines and finished runs can't be negative.")
    async with open_database(database, create=True) as opened:
        await _refuse_used(opened)
        await Threads().io(read_ideas)
        async with _be_primary(opened) as lease:
            await _add_people(opened)
            size, now = SeedSize(runs, machines, history), opened.accounts.clock.now()
            farm = FarmSeed(Random(chance), now, size)  # noqa: S311 - no secret
            await _write(opened, lease, farm, Random(chance))  # noqa: S311 - no secret
            await _mark(opened, InventedFarm(runs, machines, chance))
    print(f"Wrote {history:,} finished runs and {runs:,} others with {machines:,} machines.")
    print(f"Log in as alva, an approver, or birk; everybody's password is {PASSWORD}")


@demo.command
def serve(*, flags: ServeSettings = NOTHING_SET) -> int:
    """Serve a farm that `rookery demo seed` made, and play for its invented machines.

    The results are invented, and every page says so. It serves no other farm.
    """
    invented = asyncio.run(_find_invented(flags))
    settings = replace(flags.read(), simulated_fleet=True)
    return run_site(settings, partial(_bring_to_life, invented), _tell_address)


async def _mark(opened: Database, invented: InventedFarm) -> None:
    """Mark the database as one with invented data."""
    rows, now = FindingRows(opened.pool, opened.queries), opened.accounts.clock.now()
    await rows.save(FindingKind.INVENTED, "", invented, now)


async def _find_invented(flags: ServeSettings) -> InventedFarm:
    """Return the description of the invented farm. It is read before a server can change
    anything."""
    async with open_database(flags) as opened:
        rows = FindingRows(opened.pool, opened.queries)
        found = await rows.load(FindingKind.INVENTED, [""], InventedFarm)
    if "" not in found:
        raise Complaint(
            "This farm was not made by `rookery demo seed`: start it with `rookery serve`."
        )
    return found[""]


async def _bring_to_life(invented: InventedFarm, site: Site) -> None:
    """Invent the farm's machines again from the stored seed, and let them play. Their results are
    new each time."""
    await site.threads.io(read_ideas)
    size = SeedSize(invented.runs, invented.machines, 0)
    farm = FarmSeed(Random(invented.chance), site.clock.now(), size)  # noqa: S311 - no secret
    farm.chance = chance = Random()  # noqa: S311 - no secret
    site.templates.mark_invented()

    def invent_test(now: datetime) -> tuple[Run, str]:
        # A test that yields to all others would wait for ever.
        run = farm.invent_run(now)
        return replace(run, plan=with_fields(run.plan, priority=0)), farm.find_approver(run)

    primary = site.fleet.primary
    fleet = InventedFleet(site.fleet, farm.players, invented.tests, invent_test, chance)
    primary.spawn(fleet.play())


def _tell_address(address: str) -> None:
    print(f"The invented farm is at {address}; Ctrl-C stops it.")
    print(f"Log in as alva, an approver, or birk; everybody's password is {PASSWORD}", flush=True)


async def _refuse_used(opened: Database) -> None:
    """Refuse a database that has runs, since it is a real farm."""
    if await opened.pool.fetchval(opened.queries["runs_exist"]):
        raise Complaint("There are runs in this database already; a demo needs an empty one.")


@asynccontextmanager
async def _be_primary(opened: Database) -> AsyncIterator[Lease]:
    """Hold the lease that a server holds while it runs, so that none runs meanwhile."""
    lease = Lease(opened.pool, opened.queries, instance="demo", address="")
    try:
        async with hold_primacy(lease, force=False):
            yield lease
    except LeaseHeld as held:
        raise Complaint(f"A server is running on this database: {held}") from held


async def _add_people(opened: Database) -> None:
    accounts = opened.accounts
    password_hash = await accounts.passwords.hash(PASSWORD)
    users = tuple(invent_users(accounts.clock.now(), password_hash))
    await _add_accounts(opened, (user for user in users if not user.pending))
    # Before the pending accounts, because approvers are notified of these.
    await open_channels(opened)
    await _add_accounts(opened, (user for user in users if user.pending))
    await add_teams_and_engines(opened)
    await add_tokens(opened)


async def _add_accounts(opened: Database, users: Iterable[User]) -> None:
    rows = opened.accounts.users
    for user in users:
        if await rows.by_name(user.name) is None:
            await rows.add(user)


async def _write(opened: Database, lease: Lease, farm: FarmSeed, chance: Random) -> None:
    """Write the runs in portions through the group commit, as real results are."""
    latest: deque[Changes] = deque(maxlen=RUNS_WITH_FILES)
    finished: list[Run] = []
    unfinished: list[Run] = []
    async with _open_store(opened, lease) as store:
        commits = await store.take()
        writer = RunWriter(commits)
        for changes in _told(farm):
            # Inventing a run takes a moment. Nothing else runs in this process.
            await writer.write(changes)
            if changes.runs[0].status.finished or len(latest) < RUNS_WITH_FILES:
                latest.append(changes)
            for run in changes.runs:
                (finished if run.status.finished else unfinished).append(run)
        await commits.wait_committed(commits.put(farm.invent_blocks()))
        await _write_files(opened, latest, chance)
        await _write_progress(opened, finished, farm.branches)
        await _write_reviews(opened, unfinished)
        await add_chats(opened, finished[-6:])
        await tell_all(opened, finished)
        statistics = Statistics(opened.pool, opened.queries)
        await Accounting(statistics, store.reads, opened.accounts.clock)()


@asynccontextmanager
async def _open_store(opened: Database, lease: Lease) -> AsyncIterator[FleetStore]:
    """Yield the store of runs. A failed commit is reported with its reason."""
    reasons: list[str] = []
    opening = open_fleet_store(opened.pool, opened.queries, lease, lost=reasons.append)
    try:
        async with opening as store:
            yield store
    except (StateLost, *AWAY) as error:
        why = reasons[0] if reasons else repr(error)
        raise Complaint(
            f"The demo broke off: {why}. What is written is half a farm: begin again with an empty"
            " data folder or database."
        ) from None


class RunWriter:
    """Writes runs as fast as the disk takes groups of them: many runs share a commit."""

    def __init__(self, commits: CommitQueue) -> None:
        self._commits = commits
        self._rows = 0

    async def write(self, changes: Changes) -> None:
        first, *following = list_commits(changes)
        put = self._commits.put(first)
        self._rows += len(first.tasks)
        for part in following:
            await self._commits.wait_committed(put)
            put = self._commits.put(part)
        if following or self._rows > ROWS_A_COMMIT:
            await self._commits.wait_committed(put)
            self._rows = 0
        await asyncio.sleep(0)


async def _write_files(opened: Database, latest: Iterable[Changes], chance: Random) -> None:
    """Write uploaded files, games of the latest runs, and logs of their failures."""
    threads, clock = Threads(), opened.accounts.clock
    place: FilePlace = await threads.io(open_files, opened.settings, threads, clock, SilentLog())
    await add_files(opened, place, chance)
    games = GameStore(GameRows(opened.pool, opened.queries), place.blobs("games"), threads, clock)
    logs = LogStore(LogRows(opened.pool, opened.queries), place.blobs("logs"), threads, clock)
    for changes in latest:
        played = [task for task in changes.tasks if task.results.games]
        failed = {event.task for event in changes.events if event.action in FAILED}
        troubled = [task for task in played if task.id in failed][-TASKS_WITH_GAMES:]
        for task in {task.id: task for task in (*played[-TASKS_WITH_GAMES:], *troubled)}.values():
            packed = invent_games(chance, changes.runs[0], GAMES_OF_A_TASK)
            await games.upload(task, packed)
        by_number = {task.id: task for task in changes.tasks}
        for failure in changes.events:
            if failure.action == Action.FAILED_TASK and failure.task in by_number:
                task = by_number[failure.task]
                call = HeldTask(task.run, task.id, task.machine)
                await logs.store(call, "/api/failed_task", invent_log(failure))


async def _write_progress(
    opened: Database, runs: Sequence[Run], branches: Mapping[str, Sequence[Side]]
) -> None:
    """Write what a server would find in the main branches of the engines, which do not exist here:
    each branch starts somewhere and contains every commit whose test passed."""
    rows, now = FindingRows(opened.pool, opened.queries), opened.accounts.clock.now()
    for engine, sides in branches.items():
        # By the first test of each commit: later tests measure it against older commits.
        tested = {run.plan.new.commit: run.updated for run in reversed(runs)}
        first = min((run.created for run in runs), default=now)
        branch = [
            BranchCommit(
                side.commit,
                place,
                int(tested.get(side.commit, first).timestamp()),
                side.message.partition("\n")[0],
            )
            for place, side in enumerate(sides)
        ]
        found = [test for run in runs if (test := summarise_test(run, engine))]
        await rows.save(FindingKind.PROGRESS, engine, chain_progress(branch, found), now)


async def _write_reviews(opened: Database, runs: Iterable[Run]) -> None:
    """Write facts about the sources of these runs, so that a server does not look them up: the
    repositories do not exist. Pending runs are looked up in any case."""
    rows, now = FindingRows(opened.pool, opened.queries), opened.accounts.clock.now()
    for run in runs:
        await rows.save(FindingKind.REVIEW, run.id, invent_review(run), now)


def _told(farm: FarmSeed) -> Iterator[Changes]:
    """Show the progress on a terminal."""
    columns = (TextColumn("Writing runs"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task("runs", total=farm.size.runs + farm.size.history)
        for changes in farm.invent_runs():
            yield changes
            progress.advance(task)
