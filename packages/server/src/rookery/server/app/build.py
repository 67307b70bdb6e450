"""Builds a site from its real parts: opens them in order, and closes them in reverse."""

import asyncio
import os
import secrets
import signal
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

from starlette.applications import Starlette

from rookery.core import __version__
from rookery.core.boundary.bridge import open_bridge
from rookery.core.boundary.offload import Threads
from rookery.core.boundary.watch import Blockage, InterpreterStall, LoopWatch
from rookery.core.clock import SystemClock
from rookery.core.model.events import about_system
from rookery.server.app.compiled import compiled_likelihood
from rookery.server.app.jobs import make_jobs
from rookery.server.app.parts import make_outside, make_storage, policy_of, read_all_assets
from rookery.server.app.routes import create_app
from rookery.server.app.site import Site
from rookery.server.app.steps import (
    BRIDGE,
    DATABASE,
    EVENTS,
    FLEET,
    FORWARDER,
    JOBS,
    KEY_FILES,
    KEYS,
    LEASE,
    LEASE_CONNECTION,
    LIKELIHOOD,
    LISTENING,
    POOL,
    PRESENCE,
    QUOTA,
    SCHEMA,
    SQL_FILES,
    THREADS,
    UNFINISHED_UPLOADS,
    WATCH,
)
from rookery.server.ask.thesaurus import read_lexicon
from rookery.server.db import access, migrations
from rookery.server.db.keys import (
    SEAL_FILE,
    WHEEL_FILE,
    load_seal_secret,
    load_session_secret,
    load_wheel_secret,
    read_key_file,
)
from rookery.server.db.lease import LEASE_SECONDS, Lease, hold_primacy, keep_renewed
from rookery.server.db.listening import Channel, Listening
from rookery.server.db.pool import (
    EventLog,
    Pool,
    Queries,
    answers,
    make_event_log,
    open_pool,
    read_own_address,
)
from rookery.server.db.target import Problem, Target
from rookery.server.disk import MB, Disk, StorageAway, free_bytes
from rookery.server.farm.events import Bus
from rookery.server.farm.jobs import run_jobs
from rookery.server.farm.reads import FleetReads
from rookery.server.farm.store import open_fleet_store, publish_notice
from rookery.server.files.ownership import FileOwners
from rookery.server.files.places import open_files, refuse_lost_database, tidy_up, watched_folders
from rookery.server.http.steps import Process, StepRunner
from rookery.server.logs import Log
from rookery.server.machines.wheel import own_wheel
from rookery.server.servers.metrics import PoolStats
from rookery.server.servers.presence import keep_listed
from rookery.server.settings import Settings
from rookery.server.sources.github import SITE as GITHUB

STOP_NOTE_SECONDS = 2.0
WORTH_A_STACK_SECONDS = 0.7

Prepare = Callable[[Site], Awaitable[None]]


def new_process(settings: Settings, log: Log) -> Process:
    """The objects that the process needs before it opens anything."""
    return Process(Threads(tokens=settings.threadpool_tokens), SystemClock(), log)


async def prepare_nothing(_site: Site) -> None:
    """The default of `prepare`: does nothing."""


@asynccontextmanager
async def open_app(
    settings: Settings, process: Process, prepare: Prepare = prepare_nothing
) -> AsyncIterator[tuple[Starlette, Site]]:
    """The site of these settings and its app; `prepare` runs before the first request."""
    async with build(settings, process) as site:
        app = await process.threads.io(create_app, site)
        if settings.simulated_fleet:
            process.log.warning("simulated_fleet", meaning="invented results count")
        await prepare(site)
        process.lifecycle.started()
        try:
            yield app, site
        finally:
            process.lifecycle.stop()


@asynccontextmanager
async def build(settings: Settings, process: Process) -> AsyncIterator[Site]:
    """A running site for the length of the block. Raises a Complaint if it can't start."""
    instance, log = f"{socket.gethostname()}-{secrets.token_hex(4)}", make_event_log(process.log)
    async with StepRunner(process) as steps:
        speeding = compiled_likelihood(settings.data, process.threads, process.log)
        await steps.enter(LIKELIHOOD, speeding)
        target = await steps.enter(DATABASE, reach_database(settings, process))
        queries, newest = await steps.run(SQL_FILES, migrations.read_sql)
        pool = await steps.enter(POOL, open_pool(target, instance=instance, log=log))
        await steps.run(UNFINISHED_UPLOADS, partial(tidy_up, settings))
        await steps.wait(SCHEMA, migrations.migrate(target, queries, newest, log=log))
        files = await steps.run(KEY_FILES, partial(read_key_files, settings))
        keys = await steps.wait(KEYS, load_keys(pool, queries, files))
        renewals = await steps.enter(
            LEASE_CONNECTION, open_pool(target, instance=instance, size=1, log=log)
        )
        seen_at = await read_own_address(pool, queries)
        address = settings.internal_url or find_internal_address(process.lifecycle.bound, seen_at)
        lease = make_lease(settings, pool, queries, instance, address, renewals)
        await steps.enter(LEASE, _keep_lease(settings, lease, log))
        site = await steps.enter(
            FLEET,
            open_site(
                settings,
                process,
                pool,
                queries,
                lease,
                keys,
            ),
        )
        if settings.database_url is not None:
            site.forwarder.own_address, site.forwarder.own_name = address, instance
            site.changes.subscribe(
                Channel.LEASE, site.forwarder.look_again, site.forwarder.look_again
            )
        site.changes.subscribe(
            Channel.FLEET, lambda text: publish_notice(text, site.bus), site.bus.miss
        )
        listening = Listening(target, site.changes, instance=instance, log=log)
        await steps.enter(LISTENING, listening.opened())
        site.listening_stats = listening.stats
        await start_serving(site, steps)
        await steps.enter(PRESENCE, keep_listed(site, lease, newest[-1].number))
        await start_jobs(site, steps)
        yield site


async def start_serving(site: Site, steps: StepRunner) -> None:
    """Open the crossings between the loop and threads, and start the event bus."""
    await steps.wait(THREADS, _adopt_threads(site))
    site.bridge = await steps.enter(BRIDGE, open_bridge())
    watch = LoopWatch(partial(_tell_blockage, site.log), partial(_tell_holdup, site.log))
    site.watch = await steps.enter(WATCH, watch)
    await steps.enter(EVENTS, site.bus.opened())
    await steps.enter(FORWARDER, aclosing(site.forwarder))


async def start_jobs(site: Site, steps: StepRunner) -> None:
    """Start the periodic jobs of the site."""
    await steps.enter(QUOTA, _asking_quota(site))
    site.jobs = make_jobs(site)
    await steps.enter(JOBS, run_jobs(site.fleet, site.jobs, site.log, partial(_is_outage, site)))
    site.stop_jobs = steps.stop_jobs


@asynccontextmanager
async def _asking_quota(site: Site) -> AsyncIterator[None]:
    """Ask GitHub once for the quota of calls, if an engine's source is there. Nobody waits for
    it."""
    asking = asyncio.create_task(_ask_quota(site), name="quota")
    try:
        yield
    finally:
        asking.cancel()
        await asyncio.wait([asking])


async def _ask_quota(site: Site) -> None:
    if any(engine.repository.startswith(GITHUB) for engine in await site.engines.list()):
        await site.threads.io(site.ask_github_quota)


def _is_outage(site: Site, error: BaseException) -> bool:
    """Whether a job failed because the database or the file storage is unavailable."""
    return isinstance(error, StorageAway) or site.is_outage(error)


async def _adopt_threads(site: Site) -> None:
    site.threads.adopt_default()


@asynccontextmanager
async def reach_database(settings: Settings, process: Process) -> AsyncIterator[Target]:
    def give_up(problem: Problem) -> None:
        """Stop the process with an error: it can do nothing without its database."""
        process.log.error("database_given_up", reason=str(problem))
        process.failures.append("database")
        os.kill(os.getpid(), signal.SIGTERM)

    await process.threads.io(refuse_lost_database, settings)
    opening = access.open_target(
        settings.data,
        settings.database_url,
        alone=True,
        log=make_event_log(process.log),
        on_failure=give_up,
    )
    async with opening as target:
        yield target


@dataclass(frozen=True, slots=True)
class Keys:
    """The secret keys that all processes of a database share."""

    session: bytes = field(repr=False)
    seal: bytes = field(repr=False)
    wheel: bytes = field(repr=False)


def read_key_files(settings: Settings) -> tuple[bytes | None, bytes | None]:
    """Read the keys that an earlier version kept in the data folder. The database takes them
    over."""
    return read_key_file(settings.data / SEAL_FILE), read_key_file(settings.data / WHEEL_FILE)


async def load_keys(pool: Pool, queries: Queries, files: tuple[bytes | None, bytes | None]) -> Keys:
    seal, wheel = files
    return Keys(
        await load_session_secret(pool, queries),
        await load_seal_secret(pool, queries, seal),
        await load_wheel_secret(pool, queries, wheel),
    )


def make_lease(
    settings: Settings,
    pool: Pool,
    queries: Queries,
    instance: str,
    address: str,
    renewals: Pool,
) -> Lease:
    """The lease of this process, with a connection of its own for heartbeats."""
    shared = settings.database_url is not None
    return Lease(
        pool,
        queries,
        instance=instance,
        address=address,
        seconds=settings.lease_seconds if shared else LEASE_SECONDS,
        renewals=renewals,
    )


def _keep_lease(
    settings: Settings, lease: Lease, log: EventLog
) -> AbstractAsyncContextManager[Lease]:
    """Hold or await the lease. An external database may have another primary; then this process
    stands by. The folder of an embedded database is locked by this process alone, so any earlier
    holder of the lease is dead and the lease is taken by force."""
    if settings.database_url is not None:
        return keep_renewed(lease, log=log)
    return hold_primacy(lease, force=True, log=log)


def find_internal_address(bound: str, seen_at: str | None) -> str:
    """The address at which other processes reach this one. A server that listens on all addresses
    uses the one that the database sees, which is on a network shared with the other servers."""
    host = seen_at or "127.0.0.1"
    host = f"[{host}]" if ":" in host else host
    for everywhere in ("//0.0.0.0:", "//[::]:"):
        bound = bound.replace(everywhere, f"//{host}:")
    return bound


@asynccontextmanager
async def open_site(
    settings: Settings,
    process: Process,
    pool: Pool,
    queries: Queries,
    lease: Lease,
    keys: Keys,
) -> AsyncIterator[Site]:
    """Build the site on an open database: read the fleet from its rows and open the parts that need
    it."""
    threads, clock, log = process.threads, process.clock, process.log
    reserve = settings.disk_reserve_mb * MB
    disk = Disk(watched_folders(settings), threads, clock, log, reserve=reserve, free=free_bytes)
    opened: list[Site] = []

    def lose(reason: str) -> None:
        disk.note_message(reason)
        for site in opened:
            site.fleet.primary.lost(reason)

    # An idle primary writes nothing, so only this callback tells it that it is no longer primary.
    lease.on_loss(lose)
    bus = Bus(FleetReads(pool, queries), log)
    assets, wheel = await threads.io(read_all_assets, settings), await threads.io(own_wheel)
    lexicon = await threads.io(read_lexicon, settings.ask_thesaurus)
    owners = FileOwners(await access.load_database_name(pool, queries), threads, log)
    files = await threads.io(open_files, settings, threads, clock, log, owners)
    async with open_fleet_store(
        pool, queries, lease, lost=lose, listeners=(bus, disk), log=make_event_log(log)
    ) as store:
        site = Site(
            settings,
            process,
            make_storage(settings, process, pool, queries, store, lexicon, files, owners),
            policy=policy_of(settings),
            session_key=keys.session,
            seal_key=keys.seal,
            bus=bus,
            disk=disk,
            outside=make_outside(settings, process),
            assets=assets,
            wheel=await threads.io(wheel.signed, keys.wheel),
            is_primary=lease.is_held,
            database_answers=partial(answers, pool, queries),
        )
        site.pool_stats = partial(_pool_stats, pool)
        site.read_lease = lease.read
        async with open_fleet(site):
            opened.append(site)
            yield site


@asynccontextmanager
async def open_fleet(site: Site) -> AsyncIterator[None]:
    """Read what the site keeps in memory, and note the start and stop in the log of actions."""
    await site.load()
    await site.speed_keeping.load()
    await site.fleet.primary.open()
    await _note(site, "started")
    try:
        yield
    finally:
        await site.fleet.primary.close()
        await _note_stop(site)


def _pool_stats(pool: Pool) -> PoolStats:
    return PoolStats(pool.get_size(), pool.get_idle_size(), pool.get_max_size())


async def _note(site: Site, what: str) -> None:
    """Write a line into the log of actions."""
    await site.audit.write(about_system(f"Rookery {__version__} {what}", site.clock.now()))


async def _note_stop(site: Site) -> None:
    """Note the stop in the log of actions. The stop must not fail when the database is
    unavailable."""
    try:
        async with asyncio.timeout(STOP_NOTE_SECONDS):
            await _note(site, "stopped")
    except Exception as error:  # noqa: BLE001 - whatever it is, the process ends now
        site.log.warning("stop_not_noted", why=repr(error))


def _tell_blockage(log: Log, blockage: Blockage) -> None:
    """Log a short blockage with its location, and a long one with the whole stack."""
    seconds = round(blockage.seconds, 3)
    if blockage.seconds >= WORTH_A_STACK_SECONDS:
        log.warning("loop_blocked", seconds=seconds, stack=blockage.stack)
        return
    places = [line.strip() for line in blockage.stack.splitlines() if "File " in line]
    log.warning("loop_late", seconds=seconds, at=places[-1] if places else "")


def _tell_holdup(log: Log, holdup: InterpreterStall) -> None:
    log.warning(
        "interpreter_held",
        seconds=round(holdup.seconds, 3),
        computed_seconds=round(holdup.computed_seconds, 3),
        threads=holdup.places,
    )
