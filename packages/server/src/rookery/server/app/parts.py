"""The parts of a site that are made from its settings: rows, files, sources and rules."""

from rookery.server.app.front_end import find_folders, read_fetched
from rookery.server.app.site_parts import Storage
from rookery.server.ask.history import FOLDER as HISTORIES
from rookery.server.ask.history import GitHistories, HistoryRows
from rookery.server.ask.indexing import CorpusRows
from rookery.server.ask.passage_index import PassageIndex
from rookery.server.ask.retrieval import Bm25Retriever
from rookery.server.ask.sessions import ChatRows
from rookery.server.ask.thesaurus import Lexicon
from rookery.server.ask.uploads import UploadRows
from rookery.server.db.pool import Pool, Queries
from rookery.server.engines.engines import EngineRows
from rookery.server.engines.grants import GrantRows
from rookery.server.farm.figures import FigureRows
from rookery.server.farm.findings import FindingRows
from rookery.server.farm.rules.eligibility import Policy
from rookery.server.farm.statistics_rows import SpeedRows, Statistics
from rookery.server.farm.terms import Store
from rookery.server.files.access import FileAccessRows
from rookery.server.files.books import BookRows
from rookery.server.files.engine_files import NetRows, ProgramRows
from rookery.server.files.games import GameRows
from rookery.server.files.ownership import FileOwners
from rookery.server.files.places import FilePlace
from rookery.server.files.worker_logs import LogRows
from rookery.server.http.rendering import Assets, read_assets
from rookery.server.http.steps import Process
from rookery.server.identity.users import Audit, EndedSessions, Tokens, Users
from rookery.server.notify.link_mail import LinkMailRows
from rookery.server.notify.outbox import Channels, Outbox, Subscriptions
from rookery.server.servers.instances import InstanceRows
from rookery.server.settings import Settings
from rookery.server.sources.git import FetchPolicy, Git
from rookery.server.sources.github import GitHub, RemoteSources
from rookery.server.sources.mirrors import Mirrors
from rookery.server.teams.teams import TeamRows


def make_storage(
    settings: Settings,
    process: Process,
    pool: Pool,
    queries: Queries,
    store: Store,
    lexicon: Lexicon,
    files: FilePlace,
    owners: FileOwners,
) -> Storage:
    """The storage of a site: rows in PostgreSQL, and files where the settings say."""
    return Storage(
        fleet=store,
        instances=InstanceRows(pool, queries),
        users=Users(pool, queries),
        tokens=Tokens(pool, queries),
        ended_sessions=EndedSessions(pool, queries),
        teams=TeamRows(pool, queries),
        audit=Audit(pool, queries),
        engines=EngineRows(pool, queries),
        speeds=SpeedRows(pool, queries),
        statistics=Statistics(pool, queries),
        repositories=GrantRows(pool, queries),
        file_access=FileAccessRows(pool, queries),
        games=GameRows(pool, queries),
        nets=NetRows(pool, queries),
        books=BookRows(pool, queries),
        programs=ProgramRows(pool, queries),
        worker_logs=LogRows(pool, queries),
        channels=Channels(pool, queries),
        subscriptions=Subscriptions(pool, queries),
        outbox=Outbox(pool, queries),
        link_mails=LinkMailRows(pool, queries),
        findings=FindingRows(pool, queries),
        figures=FigureRows(pool, queries),
        passages=PassageIndex(pool, queries, lexicon.stop_words, process.threads.cpu),
        retriever=Bm25Retriever(pool, queries, lexicon.stop_words, lexicon.thesaurus.widen),
        corpus=CorpusRows(pool, queries),
        histories=HistoryRows(pool, queries),
        history_reader=GitHistories(settings.data / HISTORIES, make_git(settings)),
        documents=UploadRows(pool, queries),
        stop_words=lexicon.stop_words,
        chats=ChatRows(pool, queries),
        files=files.blobs,
        storage_health=files.health,
        file_owners=owners,
    )


def read_all_assets(settings: Settings) -> Assets:
    """The static files of the pages, with those that an earlier start has fetched."""
    assets = read_assets()
    if settings.front_end:
        assets.add(read_fetched(find_folders(settings.data)))
    return assets


def make_outside(settings: Settings, process: Process) -> RemoteSources:
    """The sources outside of this server: where it finds commits and their files."""
    mirrors = Mirrors(settings.data / "sources", make_git(settings))
    github = GitHub(process.clock, api=settings.github_api, token=settings.github_token)
    return RemoteSources(mirrors, github, process.clock)


def make_git(settings: Settings) -> Git:
    """Git, restricted to what this server's settings allow."""
    policy = FetchPolicy(frozenset(settings.git_schemes), frozenset(settings.git_hosts))
    return Git(policy, settings.git_credentials)


def policy_of(settings: Settings) -> Policy:
    """The policy from the settings: which machines get tasks on this site."""
    return Policy(
        limit_by_address=settings.limit_per_address,
        cores_per_user=settings.cores_per_user,
        simulated=settings.simulated_fleet,
    )
