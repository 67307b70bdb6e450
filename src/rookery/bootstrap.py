"""The composition root: settings in, a served house out.

The house has two floors. The ground floor is what everything stands on (database, pool, schema,
keys, lease); it is opened first, because what is built on it needs the real objects. The upper
floor (threads, bridge, watch) is the app's own lifespan. Both are staircases of declared steps:
up in order, down in reverse, each in its domain.
"""

import secrets
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial

from starlette.applications import Starlette

from rookery.boundary.bridge import Bridge, open_bridge
from rookery.boundary.domains import Declaration, Domain
from rookery.boundary.gate import Gate
from rookery.boundary.offload import Threads
from rookery.boundary.watch import Blockage, LoopWatch
from rookery.clock import SystemClock
from rookery.core.scheduling.policy import Policy
from rookery.logs import Log
from rookery.service.bearers import Bearers
from rookery.service.blobs import Blobs
from rookery.service.credentials import Credentials
from rookery.service.fleet.fleet import Fleet
from rookery.service.fleet.jobs import Job, jobs_of, working_off
from rookery.service.fleet.primary import Store
from rookery.service.nets import Downloads, Nets
from rookery.service.passwords import Passwords
from rookery.service.pgns import Pgns, PgnStore
from rookery.service.tokens import Tokens
from rookery.service.trust import Contributions, NoContributions, Trust
from rookery.service.users import Users
from rookery.settings import Settings
from rookery.storage import access, migrations, secret
from rookery.storage.blobs import FolderBlobs, MemoryBlobs
from rookery.storage.contributions import PostgresContributions
from rookery.storage.fleet.memory import MemoryStore
from rookery.storage.fleet.store import open_fleet_store
from rookery.storage.keyfile import key_in
from rookery.storage.lease import Lease
from rookery.storage.memory import MemoryTokens, MemoryUsers
from rookery.storage.migrations import Migration
from rookery.storage.nets import MemoryNets, PostgresNets
from rookery.storage.pgns import MemoryPgns, PostgresPgns
from rookery.storage.pool import Pool, open_pool
from rookery.storage.primacy import primacy
from rookery.storage.queries import Queries
from rookery.storage.target import Target
from rookery.storage.tokens import PostgresTokens
from rookery.storage.users import PostgresUsers
from rookery.web.api.desk import ApiDesk
from rookery.web.api.worker.desk import Desk
from rookery.web.api.worker.incoming import Machines
from rookery.web.app import create_app
from rookery.web.hosts import hosts
from rookery.web.house import Basis, House, PoolStats, always
from rookery.web.proxies import proxies
from rookery.web.server import Site
from rookery.web.steps import Opened, Stairs, Step, opening

LOOPBACK = ("127.0.0.0/8", "::1")
SEAL_KEY = "seal.key"
CLEAN_UP_SECONDS = 3600.0
NOTE_SECONDS = 60.0

Prepare = Callable[[House], Awaitable[None]]


async def prepare_nothing(_house: House) -> None:
    """Most starts need nothing done before the first request."""


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
    lease: Opened[Lease] = field(default_factory=lambda: Opened("the lease"))
    desks: Opened["Desks"] = field(default_factory=lambda: Opened("the desks"))


def site(settings: Settings, basis: Basis, prepare: Prepare = prepare_nothing) -> Site:
    """The site of these settings, not opened yet; `prepare` runs before the first request."""
    ground = Ground()
    stairs = Stairs(ground_steps(settings, ground, basis), basis.threads, basis.log)
    upstairs: list[Stairs] = []

    @asynccontextmanager
    async def opened() -> AsyncIterator[tuple[Starlette, House]]:
        await stairs.start()
        try:
            house = build(settings, basis, ground, stairs.steps)
            upstairs.append(house.stairs)
            app = await basis.threads.io(create_app, house)
            async with app.router.lifespan_context(app):
                await prepare(house)
                yield app, house
        finally:
            await stairs.stop()

    return Site(opened, lambda: [name for one in (*upstairs, stairs) for name in one.failures])


def ground_steps(settings: Settings, ground: Ground, basis: Basis) -> tuple[Step, ...]:
    """The ground floor, in the order in which it is entered."""
    instance, log = f"{socket.gethostname()}-{secrets.token_hex(4)}", basis.log
    return (
        opening(
            ground.target,
            "database",
            "the supervisor process blocks, the loop waits for its pipe",
            lambda: access.reach(settings.data, settings.database_url, alone=True, log=log.info),
            seconds=20.0,
        ),
        Step("sql files", Declaration(Domain.THREAD, "reads files"), partial(_load_sql, ground)),
        opening(
            ground.pool,
            "pool",
            "connections belong to the loop that opened them",
            lambda: open_pool(ground.target(), instance=instance, log=log.info),
            seconds=6.0,
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
        opening(
            ground.lease,
            "lease",
            "awaits the takeover; a task renews it",
            lambda: _hold_lease(settings, ground, instance, log),
        ),
        opening(
            ground.desks,
            "fleet",
            "reads every unfinished run into memory; a task commits what changes there",
            lambda: open_desks(settings, ground, basis),
            seconds=8.0,
        ),
    )


def _load_sql(ground: Ground) -> None:
    ground.queries.put(Queries.load())
    ground.migrations.put(migrations.load())


async def _migrate(ground: Ground, log: Log) -> None:
    await migrations.migrate(ground.target(), ground.queries(), ground.migrations(), log=log.info)


async def _fetch_key(ground: Ground) -> None:
    ground.key.put(await secret.session_secret(ground.pool(), ground.queries()))


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
    return primacy(lease, force=settings.database_url is None, log=log.info)


@asynccontextmanager
async def open_desks(settings: Settings, ground: Ground, basis: Basis) -> AsyncIterator["Desks"]:
    """The fleet on its rows, and what workers and programs need besides."""
    pool, queries, lease = ground.pool(), ground.queries(), ground.lease()
    opened: list[Fleet] = []

    def lost(reason: str) -> None:
        for fleet in opened:
            fleet.lost(reason)

    async with open_fleet_store(pool, queries, lease, lost=lost, log=basis.log.info) as store:
        desks = make_desks(
            settings,
            basis,
            store,
            Keeping(
                PostgresUsers(pool, queries),
                PostgresTokens(pool, queries),
                PostgresPgns(pool, queries),
                PostgresNets(pool, queries),
                PostgresContributions(pool, queries),
                games=FolderBlobs(settings.data / "blobs" / "games", basis.clock),
                net_files=FolderBlobs(settings.data / "blobs" / "nets", basis.clock),
            ),
            key=ground.seal_key(),
            is_primary=lease.is_held,
        )
        await desks.fleet.open()
        opened.append(desks.fleet)
        try:
            yield desks
        finally:
            await desks.fleet.close()


@dataclass(frozen=True, slots=True)
class Keeping:
    """Rows and files that any process may write."""

    users: Users
    tokens: Tokens
    pgns: Pgns
    nets: Nets
    contributions: Contributions
    games: Blobs
    net_files: Blobs


@dataclass(frozen=True, slots=True)
class Desks:
    """Where the fleet is reached: by workers, and by people's programs."""

    workers: Desk
    api: ApiDesk

    @property
    def fleet(self) -> Fleet:
        return self.workers.fleet


def make_desks(
    settings: Settings,
    basis: Basis,
    store: Store,
    kept: Keeping,
    *,
    key: bytes,
    is_primary: Callable[[], bool] = always,
) -> Desks:
    """Desks whose fleet is not opened yet."""
    clock, threads = basis.clock, basis.threads
    policy = Policy(limit_by_address=settings.limit_per_address)
    fleet = Fleet(store, clock, basis.log, policy=policy)
    passwords = Passwords(threads, clock, secrets.token_bytes(32))
    bearers = Bearers(kept.tokens, kept.users, clock)
    credentials = Credentials(kept.users, passwords, bearers, clock, key)
    fleet.on_open(lambda tenure: credentials.adopt(tenure.seals()))
    workers = Desk(
        fleet=fleet,
        credentials=credentials,
        pgns=PgnStore(fleet, kept.pgns, kept.games, threads, clock),
        gate=Gate("request_task", settings.task_semaphore_size),
        threads=threads,
        clock=clock,
        is_primary=is_primary,
        trusts=Trust(
            kept.contributions, store.reads, clock, hours=float(settings.stop_run_cpu_hours)
        ),
        machines=Machines(mind_quota=settings.mind_github_quota),
    )
    api = ApiDesk(
        fleet=fleet,
        reads=store.reads,
        users=kept.users,
        bearers=bearers,
        pgns=kept.pgns,
        games=kept.games,
        nets=kept.nets,
        net_files=kept.net_files,
        downloads=Downloads(kept.nets),
        streams=basis.streams,
        threads=threads,
        clock=clock,
        chance=secrets.token_bytes,
        cross_approval=settings.cross_approval,
        nets_elsewhere=settings.nets_url or "",
    )
    return Desks(workers, api)


def job_step(basis: Basis, desks: Desks) -> Step:
    """What the fleet does by itself, until the process begins to stop."""
    workers, api = desks.workers, desks.api
    jobs = (
        *jobs_of(desks.fleet, workers.is_primary),
        Job("games", CLEAN_UP_SECONDS, workers.pgns.clean_up),
        Job("last uses of tokens", NOTE_SECONDS, api.bearers.flush),
        Job("downloads of nets", NOTE_SECONDS, api.downloads.flush),
    )
    place: Opened[None] = Opened("the jobs")
    return opening(
        place,
        "fleet jobs",
        "slices of a few milliseconds; files are removed in threads",
        lambda: working_off(desks.fleet, jobs, basis.log),
        before_drain=True,
    )


def upper_steps(
    basis: Basis, bridge: Opened[Bridge], watch: Opened[LoopWatch], desks: Desks
) -> tuple[Step, ...]:
    """The upper floor: the crossings between the loop and threads, and the jobs."""
    return (
        Step(
            "threads",
            Declaration(Domain.LOOP, "sets the size of the pool's default limiter"),
            basis.threads.adopt_default,
        ),
        opening(bridge, "bridge", "threads call this loop through it", open_bridge),
        opening(
            watch,
            "watch",
            "answers a thread that asks four times a second",
            lambda: LoopWatch(partial(_tell_blockage, basis.log)),
        ),
        job_step(basis, desks),
    )


def _tell_blockage(log: Log, blockage: Blockage) -> None:
    log.warning("loop_blocked", seconds=round(blockage.seconds, 3), stack=blockage.stack)


def build(settings: Settings, basis: Basis, ground: Ground, climbed: tuple[Step, ...]) -> House:
    """The house on an opened ground floor."""
    pool, queries = ground.pool(), ground.queries()
    return replace(
        sketch(settings, basis, ground.desks()),
        users=PostgresUsers(pool, queries),
        secret_keys=partial(_keys, ground.key()),
        ground_steps=climbed,
        database_answers=partial(_ask, pool, queries),
        pool=partial(_pool_stats, pool),
        is_primary=ground.lease().is_held,
    )


def sketch(settings: Settings, basis: Basis, desks: Desks | None = None) -> House:
    """A house on in-memory twins, to be looked at and not entered, as `rookery boundaries` does."""
    users = MemoryUsers()
    kept = Keeping(
        users,
        MemoryTokens(users),
        MemoryPgns(),
        MemoryNets(),
        NoContributions(),
        games=MemoryBlobs(),
        net_files=MemoryBlobs(),
    )
    desks = desks or make_desks(settings, basis, MemoryStore(), kept, key=secrets.token_bytes(32))
    bridge: Opened[Bridge] = Opened("the bridge")
    watch: Opened[LoopWatch] = Opened("the watch")
    return House(
        users=users,
        workers=desks.workers,
        api=desks.api,
        threads=basis.threads,
        bridge=bridge,
        watch=watch,
        stairs=Stairs(upper_steps(basis, bridge, watch, desks), basis.threads, basis.log),
        ground_steps=ground_steps(settings, Ground(), basis),
        clock=basis.clock,
        log=basis.log,
        secret_keys=partial(_keys, secrets.token_bytes(32)),
        database_answers=_answer_at_once,
        gates=(desks.workers.gate,),
        lifecycle=basis.lifecycle,
        streams=basis.streams,
        base_url=settings.base_url,
        hosts=hosts(settings.base_url, (socket.gethostname(), *settings.allowed_hosts)),
        proxies=proxies((*LOOPBACK, *settings.trusted_proxies)),
        access_log=settings.access_log,
    )


def _keys(key: bytes) -> tuple[bytes, ...]:
    return (key,)


async def _answer_at_once() -> None:
    """What in-memory twins do."""


async def _ask(pool: Pool, queries: Queries) -> None:
    await pool.fetchval(queries["alive"])


def _pool_stats(pool: Pool) -> PoolStats:
    return PoolStats(pool.get_size(), pool.get_idle_size(), pool.get_max_size())


def basis(settings: Settings, log: Log) -> Basis:
    """What the process has from its first moment."""
    return Basis(Threads(tokens=settings.threadpool_tokens), SystemClock(), log)
