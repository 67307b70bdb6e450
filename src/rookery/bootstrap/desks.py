"""The desks at which workers and programs reach the fleet, and the jobs behind them."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass

from rookery.bootstrap.sources import make_sources, outside_of
from rookery.boundary.gate import Gate
from rookery.core.scheduling.policy import Policy
from rookery.service.accounts import Accounts
from rookery.service.audit import Audit
from rookery.service.bearers import Bearers
from rookery.service.blobs import Blobs
from rookery.service.credentials import Credentials
from rookery.service.engines import EngineRows, Engines
from rookery.service.events import Bus
from rookery.service.fleet.fleet import Fleet
from rookery.service.fleet.jobs import Job, jobs_of, working_off
from rookery.service.fleet.primary import Store
from rookery.service.holdings import HoldingRows, Holdings
from rookery.service.nets import Downloads, Nets
from rookery.service.passwords import Passwords
from rookery.service.pgns import Pgns, PgnStore
from rookery.service.privacy import Privacy
from rookery.service.quotas import MB
from rookery.service.refresh import Refresh
from rookery.service.sign_up import SignUp
from rookery.service.sources.sources import Shelf
from rookery.service.speeds import SpeedKeeping, SpeedRows, Speeds
from rookery.service.statistics import Accounting, Statistics
from rookery.service.submission.surroundings import Surroundings
from rookery.service.teams import TeamRows, Teams
from rookery.service.tidings import Channel, Tidings
from rookery.service.tokens import Tokens
from rookery.service.trust import Trust
from rookery.service.users import Users
from rookery.service.worker_logs import LogStore
from rookery.settings import Settings
from rookery.storage.outages import is_outage
from rookery.web.api.desk import ApiDesk
from rookery.web.api.worker.desk import Desk
from rookery.web.api.worker.incoming import Machines
from rookery.web.api.worker.outgoing import Payloads
from rookery.web.house import Basis, always
from rookery.web.steps import Opened, Step, opening

CLEAN_UP_SECONDS = 3600.0
COUNT_SECONDS = 900.0
NOTE_SECONDS = 60.0
SPEED_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Keeping:
    """Rows and files that any process may write."""

    users: Users
    tokens: Tokens
    pgns: Pgns
    nets: Nets
    engines: EngineRows
    statistics: Statistics
    teams: TeamRows
    holdings: HoldingRows
    audit: Audit
    games: Blobs
    net_files: Blobs
    logs: LogStore
    shelf: Shelf
    speeds: SpeedRows


@dataclass(frozen=True, slots=True)
class Desks:
    """Where the fleet is reached: by workers, and by people's programs."""

    workers: Desk
    api: ApiDesk
    speeds: SpeedKeeping

    @property
    def fleet(self) -> Fleet:
        return self.workers.fleet


@dataclass(frozen=True, slots=True)
class Rooms:
    """What both desks stand on."""

    fleet: Fleet
    teams: Teams
    engines: Engines
    privacy: Privacy
    holdings: Holdings
    bearers: Bearers
    credentials: Credentials
    accounts: Accounts


def make_desks(
    settings: Settings,
    basis: Basis,
    store: Store,
    kept: Keeping,
    *,
    key: bytes,
    is_primary: Callable[[], bool] = always,
    bus: Bus | None = None,
) -> Desks:
    """Desks whose fleet is not opened yet."""
    rooms = make_rooms(settings, basis, store, kept, key)
    forget_by_tidings(basis.tidings, rooms.credentials, rooms.bearers)
    refresh_by_tidings(basis, rooms.engines, rooms.teams, rooms.holdings)
    workers = worker_desk(settings, basis, kept, rooms, is_primary)
    told = bus or Bus(store.reads, basis.log)
    api = api_desk(settings, basis, store, kept, rooms, workers.speeds, told)
    return Desks(workers, api, SpeedKeeping(workers.speeds, kept.speeds, basis.clock, is_primary))


def make_rooms(settings: Settings, basis: Basis, store: Store, kept: Keeping, key: bytes) -> Rooms:
    clock, threads = basis.clock, basis.threads
    policy = Policy(limit_by_address=settings.limit_per_address)
    fleet = Fleet(store, clock, basis.log, policy=policy, aside=threads.cpu)
    passwords = Passwords(threads, clock, secrets.token_bytes(32))
    teams = Teams(kept.teams, kept.users, clock, kept.audit)
    engines = Engines(kept.engines, teams, clock, fleet.active, fleet.engine_shares, kept.audit)
    fleet.renewed = engines.renewed
    privacy = Privacy(engines, teams)
    bearers = Bearers(kept.tokens, kept.users, clock)
    credentials = Credentials(kept.users, passwords, bearers, clock, key)
    fleet.on_open(lambda tenure: credentials.adopt(tenure.seals()))
    return Rooms(
        fleet,
        teams,
        engines,
        privacy,
        Holdings(kept.holdings, engines, privacy),
        bearers,
        credentials,
        Accounts(kept.users, kept.tokens, passwords, clock, secrets.token_bytes, kept.audit),
    )


def worker_desk(
    settings: Settings,
    basis: Basis,
    kept: Keeping,
    rooms: Rooms,
    is_primary: Callable[[], bool],
) -> Desk:
    clock, threads = basis.clock, basis.threads
    return Desk(
        fleet=rooms.fleet,
        credentials=rooms.credentials,
        pgns=PgnStore(rooms.fleet, kept.pgns, kept.games, threads, clock),
        logs=kept.logs,
        gate=Gate("request_task", settings.task_semaphore_size),
        threads=threads,
        clock=clock,
        is_primary=is_primary,
        trusts=Trust(kept.statistics, clock, hours=float(settings.stop_run_cpu_hours)),
        machines=Machines(mind_quota=settings.mind_github_quota),
        payloads=Payloads(rooms.engines.told),
        teams_of=rooms.teams.of,
    )


def api_desk(
    settings: Settings,
    basis: Basis,
    store: Store,
    kept: Keeping,
    rooms: Rooms,
    speeds: Speeds,
    bus: Bus,
) -> ApiDesk:
    outside = outside_of(settings, basis.clock)
    quota = settings.upload_quota_mb * MB or None
    return ApiDesk(
        fleet=rooms.fleet,
        reads=store.reads,
        users=kept.users,
        bearers=rooms.bearers,
        accounts=rooms.accounts,
        sign_up=SignUp(rooms.accounts, is_open=settings.sign_up),
        engines=rooms.engines,
        speeds=speeds,
        bus=bus,
        teams=rooms.teams,
        event_gate=Gate("events", settings.event_streams),
        is_outage=is_outage,
        privacy=rooms.privacy,
        holdings=rooms.holdings,
        credentials=rooms.credentials,
        pgns=kept.pgns,
        games=kept.games,
        nets=kept.nets,
        net_files=kept.net_files,
        statistics=kept.statistics,
        logs=kept.logs,
        downloads=Downloads(kept.nets),
        sources=make_sources(basis, kept.shelf, rooms.fleet, outside, quota),
        streams=basis.streams,
        threads=basis.threads,
        clock=basis.clock,
        chance=secrets.token_bytes,
        cross_approval=settings.cross_approval,
        upload_quota=quota,
        nets_elsewhere=settings.nets_url or "",
        quota=outside.github.quota,
        around=surroundings(settings),
    )


def surroundings(settings: Settings) -> Surroundings:
    """Where the sources of submissions may come from."""
    return Surroundings(
        schemes=frozenset(settings.git_schemes),
        mirroring=settings.mirror_sources,
        credentials=settings.git_credentials is not None,
    )


def forget_by_tidings(tidings: Tidings, credentials: Credentials, bearers: Bearers) -> None:
    """Whoever changes an account, from whichever process: within a moment it counts here."""

    def user(name: str) -> None:
        credentials.forget(name)
        bearers.forget_all()

    def token(_id: str) -> None:
        credentials.forget_tokens()
        bearers.forget_all()

    def everything() -> None:
        credentials.forget_all()
        bearers.forget_all()

    tidings.on(Channel.USERS, user, everything)
    tidings.on(Channel.TOKENS, token, everything)


def refresh_by_tidings(basis: Basis, engines: Engines, teams: Teams, holdings: Holdings) -> None:
    """They are told of together: who may see what depends on all three."""

    async def load() -> None:
        await engines.load()
        await teams.load()
        await holdings.load()

    refresh = Refresh(load, basis.log)
    basis.tidings.on(Channel.ENGINES, refresh.soon, refresh.soon)


def event_step(desks: Desks) -> Step:
    """The bus on which live pages and streams hang."""
    place: Opened[Bus] = Opened("the event bus")
    why = "remembers what changed last; after a gap it awaits the rows"
    return opening(place, "events", why, desks.api.bus.opened)


def all_jobs(settings: Settings, desks: Desks) -> tuple[Job, ...]:
    """What is done by itself while the process serves."""
    workers, api = desks.workers, desks.api
    # Who may look only with an account uses it by looking, which leaves no trace.
    idle_days = 0 if settings.login_to_view else settings.idle_account_days
    counting = Accounting(api.statistics, api.reads, api.clock, idle_days=idle_days)
    return (
        *jobs_of(desks.fleet, workers.is_primary),
        Job("games", CLEAN_UP_SECONDS, workers.pgns.clean_up),
        Job("logs", CLEAN_UP_SECONDS, workers.logs.clean_up),
        Job("user statistics", COUNT_SECONDS, counting),
        Job("speeds of engines", SPEED_SECONDS, desks.speeds),
        Job("last uses of tokens", NOTE_SECONDS, api.bearers.flush),
        Job("uploads without a row", CLEAN_UP_SECONDS, api.sources.clean_up),
        Job("downloads of nets", NOTE_SECONDS, api.downloads.flush),
    )


def job_step(basis: Basis, desks: Desks, jobs: tuple[Job, ...]) -> Step:
    """The jobs, until the process begins to stop."""
    place: Opened[None] = Opened("the jobs")
    return opening(
        place,
        "fleet jobs",
        "slices of a few milliseconds; files are removed in threads",
        lambda: working_off(desks.fleet, jobs, basis.log),
        before_drain=True,
    )
