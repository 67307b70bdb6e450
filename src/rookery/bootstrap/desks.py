"""The desks at which workers and programs reach the fleet."""

import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta

from rookery.boundary.offload import Gate
from rookery.caches import Refresh
from rookery.clock import Clock
from rookery.db.fence import is_outage
from rookery.db.listening import Channel, Tidings
from rookery.db.pool import Pool, Queries
from rookery.farm.engine_rows import EngineRows
from rookery.farm.engines import Engines
from rookery.farm.events import Bus
from rookery.farm.fleet import Fleet
from rookery.farm.primary import Store
from rookery.farm.privacy import Privacy
from rookery.farm.statistics import LateGames, SpeedKeeping, Speeds
from rookery.farm.statistics_rows import SpeedRows, Statistics
from rookery.farm.submission import Surroundings
from rookery.farm.waiting import WaitingLine
from rookery.files.books import BookStore, PostgresBooks
from rookery.files.games import Pgns, PgnStore
from rookery.files.nets import Downloads, Nets
from rookery.files.programs import BinaryStore, PostgresBinaries
from rookery.files.quotas import MB, HoldingRows, Holdings
from rookery.files.store import Blobs, FolderBlobs
from rookery.files.worker_logs import LogStore
from rookery.people.accounts import Accounts
from rookery.people.bearers import Bearers, Standards, Trust
from rookery.people.login import Credentials, SignUp
from rookery.people.passwords import Passwords
from rookery.people.teams import TeamRows, Teams
from rookery.people.users import Audit, Tokens, Users
from rookery.rules.eligibility import Policy
from rookery.settings import Settings
from rookery.sources.commits import Archives, Commits, NoArchiver, NoFinder
from rookery.sources.git import Git, Reach
from rookery.sources.github import GitHub
from rookery.sources.grants import GrantRows, Repositories
from rookery.sources.lookup import OutsideCommits, Shelf, Sources
from rookery.sources.mirrors import Mirrors
from rookery.web.desk import ApiDesk
from rookery.web.house import Basis, always
from rookery.web.worker_api.desk import Desk
from rookery.web.worker_api.incoming import MachineCache
from rookery.web.worker_api.outgoing import Payloads

# What is kept in memory of accounts, engines and teams follows what any process changes.


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


def refresh_by_tidings(basis: Basis, *loads: Callable[[], Awaitable[None]]) -> None:
    """Engines, teams and files are told of together: who may see what depends on all of them."""

    async def load() -> None:
        for each in loads:
            await each()

    refresh = Refresh(load, basis.log)
    basis.tidings.on(Channel.ENGINES, refresh.soon, refresh.soon)


# What engines and openings are fetched from.

BLOBS = "blobs"
ASKED_AT_ONCE = 4
ASKING_SECONDS = 45.0


def make_sources(
    basis: Basis,
    shelf: Shelf,
    fleet: Fleet,
    outside: OutsideCommits | None = None,
    quota: int | None = None,
) -> Sources:
    """Without an outside nobody is asked for anything, without a quota everything is taken."""
    threads, clock = basis.threads, basis.clock
    return Sources(
        shelf,
        BinaryStore(shelf.binaries, shelf.binary_files, threads, clock, limit=quota),
        BookStore(shelf.books, shelf.book_files, threads, clock, fleet.active, limit=quota),
        Commits(
            outside or NoFinder(), threads, Gate("commits", ASKED_AT_ONCE), seconds=ASKING_SECONDS
        ),
        Archives(outside or NoArchiver(), threads, basis.log),
        threads,
    )


def outside_of(settings: Settings, clock: Clock) -> OutsideCommits:
    """Whom this server asks about commits."""
    reach = Reach(frozenset(settings.git_schemes), frozenset(settings.git_hosts))
    git = Git(reach, settings.git_credentials)
    github = GitHub(clock, api=settings.github_api, token=settings.github_token)
    return OutsideCommits(Mirrors(settings.data / "sources", git), github, clock)


def blobs_in(settings: Settings, name: str, clock: Clock) -> FolderBlobs:
    """A folder of files below the data folder, which leaves the reserve of the disk free."""
    return FolderBlobs(settings.data / BLOBS / name, clock, reserve=settings.disk_reserve_mb * MB)


def kept_shelf(settings: Settings, pool: Pool, queries: Queries, clock: Clock) -> Shelf:
    return Shelf(
        PostgresBinaries(pool, queries),
        blobs_in(settings, "binaries", clock),
        PostgresBooks(pool, queries),
        blobs_in(settings, "books", clock),
    )


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
    fleet.on_open(lambda term: credentials.adopt(term.seals()))
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
        machines=MachineCache(mind_quota=settings.mind_github_quota),
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
