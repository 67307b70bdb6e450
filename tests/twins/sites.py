"""A site with everything in memory, and a client that calls its app in the same process."""

import copy
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import httpx
import jinja2
from jinja2.bccache import Bucket
from starlette.applications import Starlette
from starlette.routing import BaseRoute

from rookery.core.boundary.bridge import open_bridge
from rookery.core.boundary.offload import Threads
from rookery.core.clock import Clock, SystemClock
from rookery.core.protocol.user_documents import QuotaDocument
from rookery.server.app.routes import create_app
from rookery.server.app.site import Site
from rookery.server.app.site_parts import Storage
from rookery.server.app.steps import BRIDGE, EVENTS, FLEET
from rookery.server.disk import Disk, WatchedFolder
from rookery.server.farm.events import Bus
from rookery.server.farm.rules.answers import ComplaintWeight
from rookery.server.farm.rules.eligibility import Policy
from rookery.server.farm.rules.review import SourceFacts
from rookery.server.files.blobs import FolderBlobs
from rookery.server.files.ownership import FileOwners
from rookery.server.files.storage_health import StorageHealth
from rookery.server.http.rendering import read_assets
from rookery.server.http.steps import Process, Step, StepRunner
from rookery.server.identity.passwords import Passwords
from rookery.server.identity.users import User
from rookery.server.logs import Log, SilentLog
from rookery.server.machines.wheel import own_wheel
from rookery.server.settings import Settings
from rookery.server.sources.commits import Archive, Commit, SourceError
from rookery.server.sources.survey import MainCommit, NetPattern, SourcePlace
from tests.fakes import RecordedLog
from tests.twins.ask import STOP_WORDS, MemoryPassages, MemoryRetriever
from tests.twins.chats import MemoryChats
from tests.twins.corpus import MemoryCorpus, MemoryHistories, MemoryUploads, NoHistories
from tests.twins.farm import MemoryStore
from tests.twins.files import (
    MemoryBlobs,
    MemoryBooks,
    MemoryFileAccess,
    MemoryGames,
    MemoryLogs,
    MemoryNets,
    MemoryPrograms,
)
from tests.twins.notify import (
    MemoryChannels,
    MemoryLinkMails,
    MemoryOutbox,
    MemorySubscriptions,
)
from tests.twins.people import (
    MemoryAudit,
    MemoryEndedSessions,
    MemoryTeams,
    MemoryTokens,
    MemoryUsers,
)
from tests.twins.records import (
    MemoryEngines,
    MemoryFigures,
    MemoryFindings,
    MemoryInstances,
    MemoryRepositories,
    MemorySpeeds,
    MemoryStatistics,
)

KEY = b"a key for tests only"
PASSWORD = "correct horse battery"
SIMULATED = Policy(simulated=True)
SETTINGS = Settings(task_semaphore_size=5, upload_mb=16, upload_quota_mb=0, front_end=False)
ASSETS = read_assets()
WHEEL = own_wheel().signed(bytes(32))


class CompiledTemplates(jinja2.BytecodeCache):
    """Shares compiled templates between sites: a page needs three, and most sites show one page."""

    def __init__(self) -> None:
        self._codes: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        if bucket.key in self._codes:
            bucket.bytecode_from_string(self._codes[bucket.key])

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._codes[bucket.key] = bucket.bytecode_to_string()


COMPILED = CompiledTemplates()


class NobodyOutside:
    """Sources of a site that asks no other server for commits."""

    def find(self, repository: str, revision: str, *, known: bool) -> Commit:
        del known
        raise SourceError(f"this server does not look up {revision} in {repository}")

    def archive(self, repository: str, commit: str, *, known: frozenset[str]) -> Archive:
        del known
        raise SourceError(f"this server does not fetch {commit} of {repository}")

    def forget_archives(self, days: int) -> None:
        """Does nothing: there are no archives."""

    def compare(
        self, main: SourcePlace, new: SourcePlace, base: SourcePlace, nets: NetPattern
    ) -> SourceFacts:
        del main, base, nets
        raise SourceError(f"this server does not fetch {new.repository}")

    def diff(self, new: SourcePlace, base: SourcePlace) -> str:
        raise SourceError("nobody is outside")

    def list_main(self, main: SourcePlace) -> tuple[MainCommit, ...]:
        raise SourceError(f"this server does not fetch {main.repository}")

    def find_tree(self, place: SourcePlace) -> str:
        raise SourceError(f"this server does not fetch {place.repository}")

    def read_file(self, main: SourcePlace, path: str) -> str:
        raise SourceError(f"this server does not fetch {path} of {main.repository}")

    def forget_scratch(self, before: float) -> None:
        """Does nothing: there are no scratch folders."""

    def ask_quota(self) -> None:
        """Does nothing."""

    def quota(self) -> QuotaDocument:
        return QuotaDocument(limit=60, remaining=60, reset=0, used=0, uninitialized=True)


@dataclass(slots=True)
class Rules:
    """What a test may change about a running site."""

    primary: bool = True
    trusted: set[str] = field(default_factory=set)
    unheard: set[str] = field(default_factory=set)
    """Users whose complaints do not count."""

    def is_primary(self) -> bool:
        return self.primary

    async def trusts(self, user: User) -> ComplaintWeight:
        if user.name in self.unheard:
            return ComplaintWeight.NOTED
        return ComplaintWeight.STOPS if user.name in self.trusted else ComplaintWeight.COUNTS


Trouble = tuple[Step, AbstractAsyncContextManager[None]]


class MemorySite(Site):
    """A site whose rows a test can read."""

    store: MemoryStore
    tokens: MemoryTokens
    pgns: MemoryGames
    """The rows of games."""
    statistics: MemoryStatistics
    rules: Rules
    blobs: MemoryBlobs
    """The files of games, if no folder is given."""
    process: Process


async def answer_at_once() -> None:
    """Answers a health check at once."""


def make_site(
    settings: Settings = SETTINGS,
    *,
    log: Log | None = None,
    clock: Clock | None = None,
    users: MemoryUsers | None = None,
    store: MemoryStore | None = None,
    files: Path | None = None,
    policy: Policy = SIMULATED,
    database_answers: Callable[[], Awaitable[None]] = answer_at_once,
    tokens: MemoryTokens | None = None,
) -> MemorySite:
    """Makes a site. Its workers are simulated unless the policy says otherwise. If a folder is
    given, files are stored there, because only real files are sent piece by piece."""
    process = Process(Threads(), clock or SystemClock(), log or RecordedLog())
    users, store, rules, games = (
        users or MemoryUsers(),
        store or MemoryStore(),
        Rules(),
        MemoryBlobs(),
    )
    storage = make_storage(users, store, games, files, process.clock, tokens)
    bus = Bus(store.reads)
    store.listeners.append(bus)
    site = MemorySite(
        settings,
        process,
        storage,
        policy=policy,
        session_key=KEY,
        seal_key=KEY,
        bus=bus,
        disk=Disk((WatchedFolder(Path("/")),), process.threads, process.clock),
        outside=NobodyOutside(),
        # Sites must not share fetched assets.
        assets=copy.copy(ASSETS),
        wheel=WHEEL,
        is_primary=rules.is_primary,
        database_answers=database_answers,
    )
    site.templates._environment.bytecode_cache = COMPILED
    site.trusts = rules.trusts
    site.is_outage = lambda _error: False
    site.process, site.store, site.rules, site.blobs = process, store, rules, games
    assert isinstance(storage.tokens, MemoryTokens)
    assert isinstance(storage.games, MemoryGames)
    site.tokens, site.pgns = storage.tokens, storage.games
    return site


def make_storage(
    users: MemoryUsers,
    store: MemoryStore,
    games: MemoryBlobs,
    files: Path | None,
    clock: Clock,
    tokens: MemoryTokens | None = None,
) -> Storage:
    def blobs(name: str) -> MemoryBlobs | FolderBlobs:
        if files is not None:
            return FolderBlobs(files / name, clock)
        return games if name == "games" else MemoryBlobs()

    passages = MemoryPassages()
    return Storage(
        fleet=store,
        instances=MemoryInstances(),
        users=users,
        tokens=tokens or MemoryTokens(users),
        ended_sessions=MemoryEndedSessions(),
        teams=MemoryTeams(),
        audit=MemoryAudit(store.rows),
        engines=MemoryEngines(),
        speeds=MemorySpeeds(),
        statistics=MemoryStatistics(),
        repositories=MemoryRepositories(),
        file_access=MemoryFileAccess(store.rows.file_access),
        games=MemoryGames(),
        nets=MemoryNets(),
        books=MemoryBooks(),
        programs=MemoryPrograms(),
        worker_logs=MemoryLogs(),
        channels=MemoryChannels(),
        subscriptions=MemorySubscriptions(),
        outbox=MemoryOutbox(),
        link_mails=MemoryLinkMails(),
        findings=MemoryFindings(),
        figures=MemoryFigures(),
        passages=passages,
        retriever=MemoryRetriever(passages),
        corpus=MemoryCorpus(),
        histories=MemoryHistories(),
        history_reader=NoHistories(),
        documents=MemoryUploads(),
        stop_words=STOP_WORDS,
        chats=MemoryChats(),
        files=blobs,
        storage_health=StorageHealth("memory", Threads(), clock),
        file_owners=FileOwners("memory", Threads(), SilentLog()),
    )


@asynccontextmanager
async def running(site: MemorySite, *troubles: Trouble) -> AsyncIterator[None]:
    """Runs the site, with a test's own lifespan steps after the others."""
    async with StepRunner(site.process) as steps:
        site.bridge = await steps.enter(BRIDGE, open_bridge())
        await steps.enter(FLEET, _open_fleet(site))
        await steps.enter(EVENTS, site.bus.opened())
        for step, trouble in troubles:
            await steps.enter(step, trouble)
        site.stop_jobs = steps.stop_jobs
        site.lifecycle.started()
        try:
            yield
        finally:
            site.lifecycle.stop()


@asynccontextmanager
async def _open_fleet(site: MemorySite) -> AsyncIterator[None]:
    await site.fleet.primary.open()
    try:
        yield
    finally:
        await site.fleet.primary.close()


@asynccontextmanager
async def open_app(
    site: MemorySite, routes: Sequence[BaseRoute] = (), *troubles: Trouble
) -> AsyncIterator[tuple[Starlette, Site]]:
    """The app of a site in memory, as `serve` needs it."""
    # In a thread, because tests watch the loop for blocking calls.
    app = await site.threads.io(create_app, site, routes)
    async with running(site, *troubles):
        yield app, site


@dataclass(frozen=True, slots=True)
class OpenSite:
    """A started app, and a browser for it."""

    app: Starlette
    parts: MemorySite
    browser: httpx.AsyncClient
    log: RecordedLog

    def visitor(self) -> httpx.AsyncClient:
        """Another browser, with its own cookies."""
        return _browser(self.app)


@asynccontextmanager
async def open_site(site: MemorySite | None = None, *routes: BaseRoute) -> AsyncIterator[OpenSite]:
    site = site or make_site()
    site.log = log = RecordedLog()
    async with open_app(site, routes) as (app, _), _browser(app) as browser:
        yield OpenSite(app, site, browser, log)


def _browser(app: Starlette) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app, client=("192.0.2.7", 1234))
    return httpx.AsyncClient(transport=transport, base_url="http://localhost")


_hashes: dict[str, str] = {}
"""Hashes by password; computing one takes as long as a whole test."""


async def make_user(site: Site, name: str = "ada") -> User:
    """Adds a user with the password of this module."""
    passwords = Passwords(site.threads, site.clock, KEY)
    user = User(
        name=name,
        email=f"{name}@example.org",
        password_hash=_hashes.get(PASSWORD) or await passwords.hash(PASSWORD),
        groups=frozenset(),
        blocked=False,
        pending=False,
        machine_limit=16,
        created=datetime(2030, 1, 1, tzinfo=UTC),
    )
    _hashes[PASSWORD] = user.password_hash
    await site.users.add(user)
    return user
