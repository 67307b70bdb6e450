"""The ground floor: database, pool, schema, keys, fence and fleet, in the order they are opened."""

import asyncio
import os
import secrets
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

from rookery import __version__
from rookery.bootstrap.desks import BLOBS, Desks, Keeping, blobs_in, kept_shelf, make_desks
from rookery.boundary.domains import Declaration, Domain
from rookery.db import access, keys, migrations
from rookery.db.fence import Lease, primacy
from rookery.db.keys import key_in
from rookery.db.listening import Channel, Listening
from rookery.db.migrations import Migration
from rookery.db.pool import Pool, Queries, leveled, open_pool
from rookery.db.target import Problem, Target
from rookery.farm.engine_rows import EngineRows
from rookery.farm.events import Bus
from rookery.farm.fleet import Fleet
from rookery.farm.reads import PostgresReads
from rookery.farm.statistics_rows import SpeedRows, Statistics
from rookery.farm.store import open_fleet_store, pass_on
from rookery.files.games import PostgresPgns
from rookery.files.nets import PostgresNets
from rookery.files.quotas import PostgresHoldings
from rookery.files.store import remove_unfinished
from rookery.files.worker_logs import LogStore, PostgresWorkerLogs
from rookery.logs import Log
from rookery.model.events import about_system
from rookery.people.teams import TeamRows
from rookery.people.users import Audit, Tokens, Users
from rookery.settings import Settings
from rookery.sources.grants import GrantRows
from rookery.web.house import Basis
from rookery.web.steps import Opened, Step, opening

SEAL_KEY = "seal.key"
WHEEL_KEY = "wheel.key"
STOP_NOTE_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Ground:
    """What the ground floor's steps open; each is there while its step is up."""

    target: Opened[Target] = field(default_factory=lambda: Opened("the database"))
    queries: Opened[Queries] = field(default_factory=lambda: Opened("the queries"))
    migrations: Opened[tuple[Migration, ...]] = field(
        default_factory=lambda: Opened("the migrations")
    )
    pool: Opened[Pool] = field(default_factory=lambda: Opened("the pool"))
    key: Opened[bytes] = field(default_factory=lambda: Opened("the session key"))
    seal_key: Opened[bytes] = field(default_factory=lambda: Opened("the seal key"))
    wheel_key: Opened[bytes] = field(default_factory=lambda: Opened("the wheel key"))
    lease: Opened[Lease] = field(default_factory=lambda: Opened("the lease"))
    desks: Opened[Desks] = field(default_factory=lambda: Opened("the desks"))
    listening: Opened[Listening] = field(default_factory=lambda: Opened("the listening"))
    given_up: list[str] = field(default_factory=list)
    """What ended for good while the server ran, so that the server ends too."""

    def give_up(self, problem: Problem, log: Log) -> None:
        """Without its database the process has nothing to do: whoever started it is to know."""
        log.error("database_given_up", reason=str(problem))
        self.given_up.append("database")
        os.kill(os.getpid(), signal.SIGTERM)


def ground_steps(settings: Settings, ground: Ground, basis: Basis) -> tuple[Step, ...]:
    """The ground floor, in the order in which it is entered."""
    instance = f"{socket.gethostname()}-{secrets.token_hex(4)}"
    database = _database_steps(settings, ground, instance, basis.log)
    return (*database, *_fleet_steps(settings, ground, instance, basis))


def _database_steps(
    settings: Settings, ground: Ground, instance: str, log: Log
) -> tuple[Step, ...]:
    return (
        opening(
            ground.target,
            "database",
            "the supervisor process blocks, the loop waits for its pipe",
            lambda: _reach(settings, ground, log),
            seconds=20.0,
        ),
        Step("sql files", Declaration(Domain.THREAD, "reads files"), partial(_load_sql, ground)),
        opening(
            ground.pool,
            "pool",
            "connections belong to the loop that opened them",
            lambda: open_pool(ground.target(), instance=instance, log=leveled(log)),
            seconds=6.0,
        ),
        Step(
            "unfinished uploads",
            Declaration(Domain.THREAD, "removes files"),
            lambda: remove_unfinished(settings.data / BLOBS),
        ),
        Step(
            "schema",
            Declaration(Domain.LOOP, "awaits one connection"),
            partial(_migrate, ground, log),
        ),
        Step(
            "session key", Declaration(Domain.LOOP, "awaits one query"), partial(_fetch_key, ground)
        ),
        Step(
            "seal key",
            Declaration(Domain.THREAD, "reads or makes a file"),
            lambda: ground.seal_key.put(key_in(settings.data / SEAL_KEY)),
        ),
        Step(
            "wheel key",
            Declaration(Domain.THREAD, "reads or makes a file"),
            lambda: ground.wheel_key.put(key_in(settings.data / WHEEL_KEY)),
        ),
    )


def _fleet_steps(
    settings: Settings, ground: Ground, instance: str, basis: Basis
) -> tuple[Step, ...]:
    return (
        opening(
            ground.lease,
            "fence",
            "awaits the takeover; a task renews the lease",
            lambda: _hold_lease(settings, ground, instance, basis.log),
        ),
        opening(
            ground.desks,
            "fleet",
            "reads every unfinished run into memory; a task commits what changes there",
            lambda: open_desks(settings, ground, basis),
            seconds=8.0,
        ),
        opening(
            ground.listening,
            "listening",
            "one connection of its own hears what other processes tell",
            lambda: _listen(ground, basis, instance),
        ),
    )


def _reach(settings: Settings, ground: Ground, log: Log) -> AbstractAsyncContextManager[Target]:
    return access.reach(
        settings.data,
        settings.database_url,
        alone=True,
        log=leveled(log),
        given_up=lambda problem: ground.give_up(problem, log),
    )


def _load_sql(ground: Ground) -> None:
    ground.queries.put(Queries.load())
    ground.migrations.put(migrations.load())


def _kept(settings: Settings, ground: Ground, basis: Basis) -> Keeping:
    """What is kept beside the fleet's rows, in the database and in folders."""
    pool, queries = ground.pool(), ground.queries()
    return Keeping(
        Users(pool, queries),
        Tokens(pool, queries),
        PostgresPgns(pool, queries),
        PostgresNets(pool, queries),
        EngineRows(pool, queries),
        Statistics(pool, queries),
        TeamRows(pool, queries),
        PostgresHoldings(pool, queries),
        GrantRows(pool, queries),
        Audit(pool, queries),
        games=blobs_in(settings, "games", basis.clock),
        net_files=blobs_in(settings, "nets", basis.clock),
        logs=_logs(settings, ground, basis),
        shelf=kept_shelf(settings, pool, queries, basis.clock),
        speeds=SpeedRows(pool, queries),
    )


def _logs(settings: Settings, ground: Ground, basis: Basis) -> LogStore:
    files = blobs_in(settings, "logs", basis.clock)
    rows = PostgresWorkerLogs(ground.pool(), ground.queries())
    return LogStore(rows, files, basis.threads, basis.clock)


async def _migrate(ground: Ground, log: Log) -> None:
    await migrations.migrate(
        ground.target(), ground.queries(), ground.migrations(), log=leveled(log)
    )


async def _fetch_key(ground: Ground) -> None:
    ground.key.put(await keys.session_secret(ground.pool(), ground.queries()))


def _hold_lease(
    settings: Settings, ground: Ground, instance: str, log: Log
) -> AbstractAsyncContextManager[Lease]:
    lease = Lease(
        ground.pool(),
        ground.queries(),
        instance=instance,
        address=settings.base_url or f"http://{settings.host}:{settings.port}",
    )
    # The folder of an embedded database is locked by us alone: whoever held the lease is dead.
    return primacy(lease, force=settings.database_url is None, log=leveled(log))


def _listen(ground: Ground, basis: Basis, instance: str) -> AbstractAsyncContextManager[Listening]:
    bus = ground.desks().api.bus
    basis.tidings.on(Channel.FLEET, lambda text: pass_on(text, bus), bus.miss)
    return Listening(
        ground.target(), basis.tidings, instance=instance, log=leveled(basis.log)
    ).opened()


@asynccontextmanager
async def open_desks(settings: Settings, ground: Ground, basis: Basis) -> AsyncIterator[Desks]:
    """The fleet on its rows, and what workers and programs need besides."""
    pool, queries, lease = ground.pool(), ground.queries(), ground.lease()
    opened: list[Fleet] = []

    def lost(reason: str) -> None:
        if basis.disk is not None:
            basis.disk.note_words(reason)
        for fleet in opened:
            fleet.lost(reason)

    # An idle primary writes nothing, and would not find out that it is to wait for its turn.
    lease.on_loss(lost)
    bus = Bus(PostgresReads(pool, queries), basis.log)
    async with open_fleet_store(
        pool, queries, lease, lost=lost, hears=(bus,), log=leveled(basis.log)
    ) as store:
        desks = make_desks(
            settings,
            basis,
            store,
            _kept(settings, ground, basis),
            key=ground.seal_key(),
            is_primary=lease.is_held,
            bus=bus,
        )
        await desks.api.engines.load()
        await desks.api.teams.load()
        await desks.api.holdings.load()
        await desks.api.repositories.load()
        await desks.speeds.load()
        await desks.fleet.open()
        opened.append(desks.fleet)
        await _note(desks, basis, "started")
        try:
            yield desks
        finally:
            await desks.fleet.close()
            await _note_stop(desks, basis)


async def _note(desks: Desks, basis: Basis, what: str) -> None:
    """A line of the log of actions."""
    event = about_system(f"Rookery {__version__} {what}", basis.clock.now())
    await desks.api.accounts.audit.write(event)


async def _note_stop(desks: Desks, basis: Basis) -> None:
    """Also where the database is away for good: a stop must not fail of it."""
    try:
        async with asyncio.timeout(STOP_NOTE_SECONDS):
            await _note(desks, basis, "stopped")
    except Exception as error:  # noqa: BLE001 - whatever it is, the process ends now
        basis.log.warning("stop_not_noted", why=repr(error))
