"""The desks at which workers and programs reach the fleet."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from rookery.bootstrap.hearing import forget_by_tidings, refresh_by_tidings
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
from rookery.service.fleet.primary import Store
from rookery.service.fleet.waiting import WaitingLine
from rookery.service.holdings import HoldingRows, Holdings
from rookery.service.nets import Downloads, Nets
from rookery.service.passwords import Passwords
from rookery.service.pgns import Pgns, PgnStore
from rookery.service.privacy import Privacy
from rookery.service.quotas import MB
from rookery.service.sign_up import SignUp
from rookery.service.sources.repositories import GrantRows, Repositories
from rookery.service.sources.sources import Shelf
from rookery.service.speeds import SpeedKeeping, SpeedRows, Speeds
from rookery.service.statistics import LateGames, Statistics
from rookery.service.submission.surroundings import Surroundings
from rookery.service.teams import TeamRows, Teams
from rookery.service.tokens import Tokens
from rookery.service.trust import Standards, Trust
from rookery.service.users import Users
from rookery.service.worker_logs import LogStore
from rookery.settings import Settings
from rookery.storage.outages import is_outage
from rookery.web.api.desk import ApiDesk
from rookery.web.api.worker.desk import Desk
from rookery.web.api.worker.incoming import Machines
from rookery.web.api.worker.outgoing import Payloads
from rookery.web.house import Basis, always


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
    repositories: GrantRows
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
    repositories: Repositories
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
    refresh_by_tidings(
        basis, rooms.teams.load, rooms.engines.load, rooms.holdings.load, rooms.repositories.load
    )
    workers = worker_desk(settings, basis, kept, rooms, is_primary)
    told = bus or Bus(store.reads, basis.log)
    api = api_desk(settings, basis, store, kept, rooms, workers.speeds, told)
    return Desks(workers, api, SpeedKeeping(workers.speeds, kept.speeds, basis.clock, is_primary))


def make_rooms(settings: Settings, basis: Basis, store: Store, kept: Keeping, key: bytes) -> Rooms:
    clock, threads = basis.clock, basis.threads
    policy = Policy(
        limit_by_address=settings.limit_per_address,
        cores_per_user=settings.cores_per_user,
        simulated=settings.simulated_fleet,
    )
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
        Repositories(kept.repositories, teams, clock, kept.audit),
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
        trusts=Trust(kept.statistics, clock, standards_of(settings)),
        machines=Machines(mind_quota=settings.mind_github_quota),
        late=LateGames(kept.statistics, rooms.fleet, clock),
        line=WaitingLine(rooms.fleet),
        streams=basis.streams,
        payloads=Payloads(rooms.engines.told_of),
        teams_of=rooms.teams.of,
    )


def standards_of(settings: Settings) -> Standards:
    """Whose word about a run counts on this site."""
    return Standards(
        stop_hours=float(settings.stop_run_cpu_hours),
        count_hours=float(settings.complaint_cpu_hours),
        count_age=timedelta(days=settings.complaint_days),
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
        repositories=rooms.repositories,
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
