"""The house on its ground floor, the upper floor's steps, and the site that serves it."""

import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial

from starlette.applications import Starlette

from rookery.bootstrap.app import create_app
from rookery.bootstrap.desks import Desks
from rookery.bootstrap.ground import Ground, ground_steps
from rookery.boundary.bridge import Bridge, open_bridge
from rookery.boundary.domains import Declaration, Domain
from rookery.boundary.offload import Threads
from rookery.boundary.watch import Blockage, Holdup, LoopWatch
from rookery.clock import SystemClock
from rookery.db.listening import ListeningStats
from rookery.db.pool import Pool, answers
from rookery.farm.events import Bus
from rookery.farm.jobs import TICK_SECONDS, PeriodicJob, jobs_of, working_off
from rookery.farm.statistics import Accounting
from rookery.files.disk import MB, Disk
from rookery.files.store import free_bytes, swept
from rookery.logs import Log
from rookery.people.users import EndedSessions, Users
from rookery.settings import Settings
from rookery.web.house import Basis, House, Limits, PoolStats, hosts, proxies
from rookery.web.server import Site
from rookery.web.steps import Opened, Stairs, Step, opening

# What the process does by itself: the event bus and the jobs, as steps of the upper floor.

CLEAN_UP_SECONDS = 3600.0
COUNT_SECONDS = 900.0
NOTE_SECONDS = 60.0
SPEED_SECONDS = 300.0


def event_step(desks: Desks) -> Step:
    """The bus on which live pages and streams hang."""
    place: Opened[Bus] = Opened("the event bus")
    why = "remembers what changed last; after a gap it awaits the rows"
    return opening(place, "events", why, desks.api.bus.opened)


def all_jobs(settings: Settings, desks: Desks) -> tuple[PeriodicJob, ...]:
    """What is done by itself while the process serves."""
    workers, api = desks.workers, desks.api
    # Who may look only with an account uses it by looking, which leaves no trace.
    idle_days = 0 if settings.login_to_view else settings.idle_account_days
    counting = Accounting(api.statistics, api.reads, api.clock, idle_days=idle_days)
    sweep_nets = partial(swept, api.net_files, api.nets, api.threads)
    return (
        *jobs_of(desks.fleet, workers.is_primary),
        PeriodicJob("games", CLEAN_UP_SECONDS, workers.pgns.clean_up),
        PeriodicJob("logs", CLEAN_UP_SECONDS, workers.logs.clean_up),
        PeriodicJob("user statistics", COUNT_SECONDS, counting),
        PeriodicJob("speeds of engines", SPEED_SECONDS, desks.speeds),
        PeriodicJob("last uses of tokens", NOTE_SECONDS, api.bearers.flush),
        PeriodicJob("uploads without a row", CLEAN_UP_SECONDS, api.sources.clean_up),
        PeriodicJob("nets without a row", CLEAN_UP_SECONDS, sweep_nets),
        PeriodicJob("downloads of nets", NOTE_SECONDS, api.downloads.flush),
    )


def job_step(basis: Basis, desks: Desks, jobs: tuple[PeriodicJob, ...]) -> Step:
    """The jobs, until the process begins to stop."""
    place: Opened[None] = Opened("the jobs")
    return opening(
        place,
        "fleet jobs",
        "slices of a few milliseconds; files are removed in threads",
        lambda: working_off(desks.fleet, jobs, basis.log, desks.api.is_outage),
        before_drain=True,
    )


Prepare = Callable[[House], Awaitable[None]]
WORTH_A_STACK_SECONDS = 0.7


async def prepare_nothing(_house: House) -> None:
    """Most starts need nothing done before the first request."""


def site(settings: Settings, basis: Basis, prepare: Prepare = prepare_nothing) -> Site:
    """The site of these settings, not opened yet; `prepare` runs before the first request."""
    ground = Ground()
    stairs = Stairs(ground_steps(settings, ground, basis), basis.threads, basis.log)
    upstairs: list[Stairs] = []

    @asynccontextmanager
    async def opened() -> AsyncIterator[tuple[Starlette, House]]:
        await stairs.start()
        if settings.simulated_fleet:
            basis.log.warning("simulated_fleet", meaning="invented results count")
        try:
            house = build(settings, basis, ground, stairs.steps)
            upstairs.append(house.stairs)
            app = await basis.threads.io(create_app, house)
            async with app.router.lifespan_context(app):
                await prepare(house)
                yield app, house
        finally:
            await stairs.stop()

    def failures() -> list[str]:
        failed = [name for one in (*upstairs, stairs) for name in one.failures]
        return [*ground.given_up, *failed]

    return Site(opened, failures)


def upper_steps(
    basis: Basis,
    bridge: Opened[Bridge],
    watch: Opened[LoopWatch],
    desks: Desks,
    jobs: tuple[PeriodicJob, ...],
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
            lambda: LoopWatch(partial(_tell_blockage, basis.log), partial(_tell_holdup, basis.log)),
        ),
        event_step(desks),
        job_step(basis, desks, jobs),
    )


def _tell_blockage(log: Log, blockage: Blockage) -> None:
    """A hiccup is told with its place; only what lasts is worth a whole stack."""
    seconds = round(blockage.seconds, 3)
    if blockage.seconds >= WORTH_A_STACK_SECONDS:
        log.warning("loop_blocked", seconds=seconds, stack=blockage.stack)
        return
    places = [line.strip() for line in blockage.stack.splitlines() if "File " in line]
    log.warning("loop_late", seconds=seconds, at=places[-1] if places else "")


def _tell_holdup(log: Log, holdup: Holdup) -> None:
    log.warning(
        "interpreter_held",
        seconds=round(holdup.seconds, 3),
        computed_seconds=round(holdup.computed_seconds, 3),
        threads=holdup.places,
    )


def build(settings: Settings, basis: Basis, ground: Ground, climbed: tuple[Step, ...]) -> House:
    """The house on an opened ground floor."""
    pool, queries = ground.pool(), ground.queries()
    return make_house(
        settings,
        basis,
        ground.desks(),
        users=Users(pool, queries),
        ended_sessions=EndedSessions(pool, queries),
        key=ground.key(),
        wheel_key=ground.wheel_key(),
        ground_steps=climbed,
        database_answers=partial(answers, pool, queries),
        pool=partial(_pool_stats, pool),
        listening=ground.listening().stats,
        is_primary=ground.lease().is_held,
    )


def make_house(
    settings: Settings,
    basis: Basis,
    desks: Desks,
    *,
    users: Users,
    ended_sessions: EndedSessions,
    key: bytes,
    wheel_key: bytes,
    ground_steps: tuple[Step, ...],
    database_answers: Callable[[], Awaitable[None]],
    pool: Callable[[], PoolStats | None],
    listening: Callable[[], ListeningStats | None],
    is_primary: Callable[[], bool],
) -> House:
    """A house of these parts, whose upper floor is not entered yet."""
    disk = basis.disk or Disk(settings.data, basis.threads, basis.clock)
    jobs = (*all_jobs(settings, desks), PeriodicJob("disk", TICK_SECONDS, disk.look))
    bridge: Opened[Bridge] = Opened("the bridge")
    watch: Opened[LoopWatch] = Opened("the watch")
    return House(
        users=users,
        ended_sessions=ended_sessions,
        disk=disk,
        workers=desks.workers,
        api=desks.api,
        threads=basis.threads,
        bridge=bridge,
        watch=watch,
        stairs=Stairs(upper_steps(basis, bridge, watch, desks, jobs), basis.threads, basis.log),
        ground_steps=ground_steps,
        clock=basis.clock,
        log=basis.log,
        secret_keys=partial(_keys, key),
        wheel_key=wheel_key,
        database_answers=database_answers,
        pool=pool,
        listening=listening,
        is_primary=is_primary,
        gates=(desks.workers.gate, desks.api.event_gate, desks.api.sources.commits.gate),
        jobs=jobs,
        lifecycle=basis.lifecycle,
        streams=basis.streams,
        tidings=basis.tidings,
        base_url=settings.base_url,
        hosts=hosts(settings.base_url, (socket.gethostname(), *settings.allowed_hosts)),
        proxies=proxies(settings.trusted_proxies),
        limits=limits_of(settings),
        access_log=settings.access_log,
        login_to_view=settings.login_to_view,
        simulated_fleet=settings.simulated_fleet,
    )


def limits_of(settings: Settings) -> Limits:
    """What a request may be on this site."""
    return replace(
        Limits.with_uploads(settings.upload_mb * 10**6),
        head_seconds=settings.head_seconds,
        body_seconds=settings.body_seconds,
    )


def _keys(key: bytes) -> tuple[bytes, ...]:
    return (key,)


def _pool_stats(pool: Pool) -> PoolStats:
    return PoolStats(pool.get_size(), pool.get_idle_size(), pool.get_max_size())


def basis(settings: Settings, log: Log) -> Basis:
    """What the process has from its first moment."""
    threads, clock = Threads(tokens=settings.threadpool_tokens), SystemClock()
    reserve = settings.disk_reserve_mb * MB
    disk = Disk(settings.data, threads, clock, log, reserve=reserve, free=free_bytes)
    return Basis(threads, clock, log, disk=disk)
