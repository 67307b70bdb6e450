"""The one container of a server: every part that endpoints, pages and jobs work with.

A site is made from its settings and from what it keeps. It opens nothing itself: `app.build` opens
the database, the lease and the files in their order and makes the site from them.
"""

import secrets
from collections.abc import Awaitable, Callable

from rookery.core.boundary.offload import Gate
from rookery.core.boundary.watch import LoopMeter
from rookery.core.model.engine import EngineRecord
from rookery.server.app.front_end import FrontEnd
from rookery.server.app.memory import GrownMemory
from rookery.server.app.site_parts import LateParts, Storage
from rookery.server.ask.ask import Ask
from rookery.server.ask.history import Histories, HistoryKeeping
from rookery.server.ask.indexing import Indexer, read_doc_pages
from rookery.server.ask.uploads import Uploads
from rookery.server.caches import Refresher
from rookery.server.db.fence import is_outage
from rookery.server.db.listening import ChangeNotices, Channel
from rookery.server.disk import Disk
from rookery.server.engines.engines import Engines
from rookery.server.engines.grants import GrantedRepositories
from rookery.server.engines.privacy import Privacy
from rookery.server.engines.source_rules import SourceRules
from rookery.server.engines.visible_runs import VisibleRuns
from rookery.server.farm.activity import ActivityKeeping
from rookery.server.farm.events import Bus
from rookery.server.farm.figures import FarmFigureReader
from rookery.server.farm.fleet import Fleet
from rookery.server.farm.hosts import MachineRoster
from rookery.server.farm.jobs import FleetJobs, Reachability
from rookery.server.farm.rules.answers import ComplaintWeight
from rookery.server.farm.rules.eligibility import Policy
from rookery.server.farm.statistics import Accounting, LateGames, SpeedKeeping, Speeds
from rookery.server.farm.waiting import WaitingLine
from rookery.server.files.access import FileAccess
from rookery.server.files.books import BookStore
from rookery.server.files.engine_files import NetStore, ProgramStore
from rookery.server.files.game_insights import GameInsightsReader
from rookery.server.files.games import GameStore, read_spans
from rookery.server.files.store import MB
from rookery.server.files.worker_logs import LogStore
from rookery.server.http.bodies import LargeBodies, Places, Streams, UploadPlaces
from rookery.server.http.forwarding import Forwarder
from rookery.server.http.fragments import SharedParts
from rookery.server.http.internal_calls import InternalKey
from rookery.server.http.limits import RequestBounds, hosts_of_site, read_proxies
from rookery.server.http.rendering import Assets, Templates
from rookery.server.http.session import CookieSigner, LoggedOutSessions, SessionCheck
from rookery.server.http.steps import Process, Readiness
from rookery.server.http.traffic import Traffic
from rookery.server.http.turns import SearchPlaces, Turns
from rookery.server.identity.accounts import Accounts
from rookery.server.identity.bearers import Bearers, forget_changed_accounts
from rookery.server.identity.links import LinkSigner
from rookery.server.identity.login import Login, PasswordResets
from rookery.server.identity.passwords import Passwords
from rookery.server.identity.profiles import Profiles
from rookery.server.identity.sign_up import SignUp
from rookery.server.identity.users import User
from rookery.server.identity.worker_credentials import WorkerCredentials
from rookery.server.identity.worker_tokens import WorkerTokens
from rookery.server.machines.wheel import Wheel
from rookery.server.notify.link_mail import LinkMails
from rookery.server.notify.mail import MailServer
from rookery.server.notify.sending import Sender
from rookery.server.notify.webhooks import Webhooks
from rookery.server.people.account_changes import AccountChanges
from rookery.server.people.trust import TrustedUsers, TrustRequirements
from rookery.server.runs.approvals import PendingApprovals
from rookery.server.runs.run.contributions import KeptContributions
from rookery.server.servers.instances import OtherInstances
from rookery.server.settings import Settings
from rookery.server.sources.commits import Archives, Commits
from rookery.server.sources.diffs import Diffs
from rookery.server.sources.github import SourceAccess
from rookery.server.sources.official_books import OfficialBookList
from rookery.server.sources.progress import ProgressKeeping
from rookery.server.sources.reviews import Reviews
from rookery.server.teams.teams import Teams

ASKED_AT_ONCE = 4
ASKING_SECONDS = 45.0


class Site(LateParts):
    """All running parts of a process. Tests may replace parts before the site is used."""

    def __init__(
        self,
        settings: Settings,
        process: Process,
        storage: Storage,
        *,
        policy: Policy,
        session_key: bytes,
        seal_key: bytes,
        bus: Bus,
        disk: Disk,
        outside: SourceAccess,
        assets: Assets,
        wheel: Wheel,
        is_primary: Callable[[], bool],
        database_answers: Callable[[], Awaitable[None]],
    ) -> None:
        """`database_answers` raises, or takes too long, if the database does not answer."""
        super().__init__()
        self.settings = settings
        self._process = process
        self.threads = process.threads
        self.clock = process.clock
        self.log = process.log
        self.lifecycle = process.lifecycle
        self.bus = bus
        self.disk = disk
        self.assets = assets
        self.wheel = wheel
        self.is_primary = is_primary
        self.is_outage: Callable[[BaseException], bool] = is_outage
        self.changes = ChangeNotices()
        self.streams = Streams()
        self.meter = LoopMeter()
        self.upload_quota = settings.upload_quota_mb * MB or None
        self.fleet = Fleet(
            storage.fleet,
            self.clock,
            self.log,
            policy=policy,
            in_thread=self.threads.cpu_always,
            is_held=is_primary,
        )
        self._make_people(storage, seal_key)
        self._make_fleet(storage)
        self._make_files(storage)
        self._make_sources(storage, outside)
        self._make_corpus(storage)
        self._make_notifications(storage, session_key)
        self._make_web(storage, session_key, database_answers)
        self._follow_changes()

    @property
    def role(self) -> str:
        """`primary`, or `secondary` if another process is primary."""
        return self.fleet.primary.role

    def describe_trouble(self) -> str:
        """A warning about the disk or the file storage for every page and the probes; empty if all
        is well. May be called in any thread."""
        return self.disk.describe_trouble() or self.storage_health.describe_trouble()

    def _make_people(self, storage: Storage, seal_key: bytes) -> None:
        clock, audit = self.clock, storage.audit
        # A random key is enough, since these digests are compared within this process only.
        passwords = Passwords(self.threads, clock, key=secrets.token_bytes(32))
        self.users = storage.users
        self.audit = audit
        self.teams = Teams(storage.teams, storage.users, clock, audit)
        self.bearers = Bearers(storage.tokens, storage.users, clock)
        worker_tokens = WorkerTokens(self.bearers, storage.tokens, clock)
        self.credentials = WorkerCredentials(
            storage.users, passwords, worker_tokens, clock, seal_key
        )
        self.accounts = Accounts(
            storage.users, storage.tokens, passwords, clock, secrets.token_bytes, audit
        )
        self.profiles = Profiles(self.accounts)
        self.sign_up = SignUp(self.accounts, is_open=self.settings.sign_up)
        self.login = Login(storage.users, passwords, clock)
        trust = TrustedUsers(
            storage.users,
            storage.statistics,
            clock,
            TrustRequirements.of_settings(self.settings),
        )
        self.fleet.primary.set_standing(trust.find_standing)
        self.trusts: Callable[[User], Awaitable[ComplaintWeight]] = trust
        self.fleet.primary.on_open(lambda term: self.credentials.adopt_seals(term.seals()))
        remembering = Refresher(self.credentials.remember_recent_tokens, self.log)
        self.fleet.primary.on_open(lambda _term: remembering.schedule())

    def _make_fleet(self, storage: Storage) -> None:
        fleet, clock = self.fleet, self.clock
        self.reads = storage.fleet.reads
        self.statistics = storage.statistics
        self.engines = Engines(
            storage.engines,
            self.teams,
            clock,
            fleet.views.active,
            fleet.primary.engine_shares,
            storage.audit,
        )
        self.engines.source_rules = SourceRules(
            frozenset(self.settings.git_schemes), frozenset(self.settings.git_hosts)
        )
        fleet.primary.set_run_refresher(self.engines.renewed)
        self.privacy = Privacy(self.engines, self.teams)
        self.visible_runs = VisibleRuns(fleet.views, self.privacy)
        self.speeds = Speeds()
        self.speed_keeping = SpeedKeeping(self.speeds, storage.speeds, clock, self.is_primary)
        # Viewing a closed site is a use of an account and leaves no trace, so none counts as idle.
        idle_days = 0 if self.settings.login_to_view else self.settings.idle_account_days
        self.accounting = Accounting(storage.statistics, self.reads, clock, idle_days=idle_days)
        self.fleet_jobs = FleetJobs(fleet, self.threads.cpu_always)
        self.roster = MachineRoster(fleet, clock, self.threads.cpu)
        self.reachability = Reachability(fleet, self.is_primary)
        self.figures = FarmFigureReader(fleet, storage.figures, clock)
        self.late_games = LateGames(storage.statistics, fleet.views, clock)
        self.waiting_line = WaitingLine(fleet)
        self.instances = storage.instances
        self.other_instances: Callable[[], OtherInstances] = OtherInstances
        """The other processes that serve the same database."""
        self.activity_keeping = ActivityKeeping(
            fleet, self.threads.cpu_always, lambda: self.other_instances().others > 0
        )
        self.task_gate = Gate("request_task", self.settings.task_semaphore_size)
        self.event_gate = Gate("events", self.settings.event_streams)
        self.event_places = Places(self.event_gate)

    def _make_files(self, storage: Storage) -> None:
        threads, clock, limit = self.threads, self.clock, self.upload_quota
        self.file_access = FileAccess(storage.file_access, self.engines, self.privacy)
        self.storage_health, self.file_owners = storage.storage_health, storage.file_owners
        self.passages = storage.passages
        self.retriever = storage.retriever
        self.ask = Ask(
            self.settings,
            storage.chats,
            storage.retriever,
            storage.stop_words,
            process=self._process,
            bridge=lambda: self.bridge,
        )
        kept = self.settings
        spans = read_spans(kept.games_days, kept.long_games_days, kept.played_games_days)
        self.games = GameStore(storage.games, storage.files("games"), threads, clock, spans)
        self.game_insights = GameInsightsReader(self.games, threads, clock)
        self.logs = LogStore(storage.worker_logs, storage.files("logs"), threads, clock)
        self.nets = NetStore(storage.nets, storage.files("nets"), threads, clock, limit=limit)
        self.books = BookStore(storage.books, storage.files("books"), threads, clock, limit=limit)
        self.programs = ProgramStore(
            storage.programs, storage.files("binaries"), threads, clock, limit=limit
        )
        self.worker_bodies, self.command_bodies = LargeBodies(), LargeBodies()
        self.upload_bodies = UploadPlaces()

    def _make_sources(self, storage: Storage, outside: SourceAccess) -> None:
        threads, clock, log, is_primary = self.threads, self.clock, self.log, self.is_primary
        findings, engines, listed = storage.findings, self.engines, self.settings.books_repository
        self.repositories = GrantedRepositories(
            storage.repositories, self.teams, clock, storage.audit
        )
        gate = Gate("commits", ASKED_AT_ONCE)
        self.commits = Commits(outside, threads, gate, seconds=ASKING_SECONDS)
        self.archives = Archives(outside, threads, log)
        self.diffs = Diffs(outside, threads, clock)
        self.outside = outside
        self.github_quota, self.ask_github_quota = outside.quota, outside.ask_quota
        self.reviews = Reviews(
            findings,
            outside,
            engines,
            self.repositories,
            self.nets,
            self.file_access,
            self.fleet,
            threads,
            clock,
            log,
            is_primary,
            nets_elsewhere=bool(self.settings.nets_url),
        )
        self.official_books = OfficialBookList(
            self.books, findings, outside, threads, clock, log, is_primary, listed
        )
        self.progress_keeping = ProgressKeeping(
            findings,
            outside,
            engines,
            self.repositories,
            self.reads,
            threads,
            clock,
            log,
            is_primary,
        )

    def _make_corpus(self, storage: Storage) -> None:
        """Make the sources that questions are answered from, and what keeps them up to date."""
        threads, clock = self.threads, self.clock
        self.documents = Uploads(
            storage.documents,
            storage.files("documents"),
            threads,
            clock,
            limit=self.upload_quota,
            unindex=self.passages.remove,
        )
        self.indexer = Indexer(
            storage.corpus,
            self.passages,
            threads,
            clock,
            read_pages=read_doc_pages,
            is_primary=self.is_primary,
        )
        self.history_keeping = HistoryKeeping(
            Histories(storage.histories, threads, clock),
            storage.history_reader,
            self._process,
            list_records=lambda: tuple(self.engines.catalogue.engines.values()),
            may_open=self._may_open_for_all,
            is_primary=self.is_primary,
        )

    def _may_open_for_all(self, record: EngineRecord) -> bool:
        """Whether the server may show an engine's repository to all readers of its record."""
        team = record.team if record.private else ""
        return record.repository in self.repositories.list_granted_to(team)

    def _make_notifications(self, storage: Storage, key: bytes) -> None:
        settings, clock = self.settings, self.clock
        self.address = settings.base_url or f"http://{settings.host}:{settings.port}"
        self.channels = storage.channels
        self.subscriptions = storage.subscriptions
        self.outbox = storage.outbox
        self.links = LinkSigner(lambda: key, clock)
        self.link_mails = LinkMails(
            MailServer.of_settings(settings),
            self.links,
            self.address,
            storage.link_mails,
            self.users,
            self._process,
        )
        self.webhooks = Webhooks(self.address, frozenset(settings.webhook_hosts), clock)
        self.resets = PasswordResets(self.users, clock)
        self.sender = Sender(
            storage.outbox,
            self.users,
            self.link_mails,
            self.webhooks,
            self.privacy,
            self.is_primary,
        )

    def _make_web(
        self, storage: Storage, key: bytes, database_answers: Callable[[], Awaitable[None]]
    ) -> None:
        settings, clock = self.settings, self.clock
        self.internal_key = InternalKey(key, clock, self.log)
        self.forwarder = Forwarder(
            self.internal_key,
            self.log,
            is_ready=lambda: self.is_primary() and self.fleet.primary.is_serving,
            read_lease=lambda: self.read_lease(),  # noqa: PLW0108 - it is replaced later
        )
        self.hosts = hosts_of_site(settings)
        self.proxies = read_proxies(settings.trusted_proxies)
        self.limits = RequestBounds.of_settings(settings)
        self.templates = Templates(
            self.assets,
            simulated_fleet=settings.simulated_fleet,
            trouble=self.describe_trouble,
            notice=self.activity_keeping.describe_age,
        )
        self.front_end = FrontEnd(self.assets, self.threads, clock, self.log, settings)
        self.turns = Turns()
        self.search_places = SearchPlaces()
        self.shared_parts = SharedParts(clock, self.turns)
        self.traffic = Traffic()
        self.memory = GrownMemory(self.threads, self.log)
        trouble = self.describe_trouble
        self.readiness = Readiness(self.lifecycle, database_answers, self.disk, clock, trouble)
        self.cookies = CookieSigner(lambda: (key,), clock)
        self.sessions = SessionCheck(
            storage.users, LoggedOutSessions(storage.ended_sessions, clock), clock, lambda: key
        )
        self.account_changes = AccountChanges(
            self.profiles,
            self.sessions,
            self.bearers,
            self.credentials,
            self.privacy.catalogue,
        )
        self.approvals = PendingApprovals(self.fleet.views, self.privacy, storage.users, clock)
        self.contributions = KeptContributions(self.reads, clock)

    def _follow_changes(self) -> None:
        """Subscribe caches to changes, so that a change by any process soon has effect here."""
        ended, sessions = self.sessions.ended, self.sessions
        self.changes.subscribe(Channel.SESSIONS, ended.told, ended.missed)
        self.changes.subscribe(Channel.USERS, sessions.forget, sessions.forget_all)
        forget = self.approvals.forget
        self.changes.subscribe(Channel.USERS, lambda _name: forget(), forget)
        forget_changed_accounts(self.changes, self.credentials, self.bearers, self.log)
        refresh = Refresher(self.load, self.log)
        self.changes.subscribe(Channel.ENGINES, refresh.schedule, refresh.schedule)
        wake_standby = self.fleet.primary.wake_standby
        self.changes.subscribe(Channel.LEASE, wake_standby, wake_standby)

    async def load(self) -> None:
        """Read what is kept in memory and may be changed by other processes. Engines, teams and
        files are read together, because who may see what depends on all three."""
        await self.teams.load()
        await self.engines.load()
        await self.file_access.load()
        await self.repositories.load()
        await self.official_books.load()
