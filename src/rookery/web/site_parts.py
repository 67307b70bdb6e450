"""The storage that a site is made from, and the parts that are added after it was made."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from rookery import __version__
from rookery.ask.history import HistoryReader, HistoryRows
from rookery.ask.indexing import CorpusRows
from rookery.ask.passage_index import PassageIndex
from rookery.ask.passages import Retriever
from rookery.ask.sessions import ChatRows
from rookery.ask.uploads import UploadRows
from rookery.boundary.bridge import Bridge
from rookery.boundary.watch import LoopWatch
from rookery.db.lease import LeaseRow
from rookery.db.listening import ListeningStats
from rookery.farm.engines import EngineRows
from rookery.farm.figures import FigureRows
from rookery.farm.findings import FindingRows
from rookery.farm.instances import InstanceRows
from rookery.farm.jobs import PeriodicJob
from rookery.farm.statistics_rows import SpeedRows, Statistics
from rookery.farm.terms import Store
from rookery.files.access import FileAccessRows
from rookery.files.blobs import Blobs
from rookery.files.books import BookRows
from rookery.files.engine_files import NetRows, ProgramRows
from rookery.files.games import GameRows
from rookery.files.ownership import FileOwners
from rookery.files.storage_health import StorageHealth
from rookery.files.worker_logs import LogRows
from rookery.notify.link_mail import LinkMailRows
from rookery.notify.outbox import Channels, Outbox, Subscriptions
from rookery.people.teams import TeamRows
from rookery.people.users import Audit, EndedSessions, Tokens, Users
from rookery.sources.grants import GrantRows
from rookery.web.metrics import PoolStats


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
