"""The storage that a site is made from, and the parts that are added after it was made."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from rookery.core import __version__
from rookery.core.boundary.bridge import Bridge
from rookery.core.boundary.watch import LoopWatch
from rookery.server.ask.history import HistoryReader, HistoryRows
from rookery.server.ask.indexing import CorpusRows
from rookery.server.ask.passage_index import PassageIndex
from rookery.server.ask.passages import Retriever
from rookery.server.ask.sessions import ChatRows
from rookery.server.ask.uploads import UploadRows
from rookery.server.db.lease import LeaseRow
from rookery.server.db.listening import ListeningStats
from rookery.server.engines.engines import EngineRows
from rookery.server.engines.grants import GrantRows
from rookery.server.farm.figures import FigureRows
from rookery.server.farm.findings import FindingRows
from rookery.server.farm.jobs import PeriodicJob
from rookery.server.farm.statistics_rows import SpeedRows, Statistics
from rookery.server.farm.terms import Store
from rookery.server.files.access import FileAccessRows
from rookery.server.files.blobs import Blobs
from rookery.server.files.books import BookRows
from rookery.server.files.engine_files import NetRows, ProgramRows
from rookery.server.files.games import GameRows
from rookery.server.files.ownership import FileOwners
from rookery.server.files.storage_health import StorageHealth
from rookery.server.files.worker_logs import LogRows
from rookery.server.identity.users import Audit, EndedSessions, Tokens, Users
from rookery.server.notify.link_mail import LinkMailRows
from rookery.server.notify.outbox import Channels, Outbox, Subscriptions
from rookery.server.servers.instances import InstanceRows
from rookery.server.servers.metrics import PoolStats
from rookery.server.teams.teams import TeamRows


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """All stored data: in PostgreSQL and in folders, or in memory for tests."""

    fleet: Store
    instances: InstanceRows
    users: Users
    tokens: Tokens
    ended_sessions: EndedSessions
    teams: TeamRows
    audit: Audit
    engines: EngineRows
    speeds: SpeedRows
    statistics: Statistics
    repositories: GrantRows
    file_access: FileAccessRows
    games: GameRows
    nets: NetRows
    books: BookRows
    programs: ProgramRows
    worker_logs: LogRows
    channels: Channels
    subscriptions: Subscriptions
    outbox: Outbox
    link_mails: LinkMailRows
    findings: FindingRows
    figures: FigureRows
    passages: PassageIndex
    retriever: Retriever
    corpus: CorpusRows
    histories: HistoryRows
    history_reader: HistoryReader
    documents: UploadRows
    stop_words: frozenset[str]
    chats: ChatRows
    files: Callable[[str], Blobs]
    """The file store of one kind of files, by the name of its folder."""
    storage_health: StorageHealth
    file_owners: FileOwners


class LateParts:
    """The parts of a site that are opened after it was made. Tests may leave them out."""

    def __init__(self) -> None:
        self.version = __version__
        """The version, with the build once that is known."""
        self.bridge: Bridge | None = None
        self.watch: LoopWatch | None = None
        self.jobs: tuple[PeriodicJob, ...] = ()
        self.pool_stats: Callable[[], PoolStats | None] = lambda: None
        self.listening_stats: Callable[[], ListeningStats | None] = lambda: None
        self.connections: Callable[[], int] = lambda: 0
        self.read_lease: Callable[[], Awaitable[LeaseRow | None]] = _no_lease
        self.hand_over: Callable[[], Awaitable[None]] = _do_nothing
        """Hands the primary role over to another process before this one stops."""
        self.stop_jobs: Callable[[], Awaitable[None]] = _do_nothing


async def _no_lease() -> None:
    """The default of `read_lease`, for a single process: there is no lease."""


async def _do_nothing() -> None:
    """The default for sites without jobs and without other processes: does nothing."""
