"""The parts of a site that are made from its settings: rows, files, sources and rules."""

from rookery.ask.history import FOLDER as HISTORIES
from rookery.ask.history import GitHistories, HistoryRows
from rookery.ask.indexing import CorpusRows
from rookery.ask.passage_index import PassageIndex
from rookery.ask.retrieval import Bm25Retriever
from rookery.ask.sessions import ChatRows
from rookery.ask.thesaurus import Lexicon
from rookery.ask.uploads import UploadRows
from rookery.db.pool import (
    Pool,
    Queries,
)
from rookery.farm.engines import EngineRows
from rookery.farm.figures import FigureRows
from rookery.farm.findings import FindingRows
from rookery.farm.instances import InstanceRows
from rookery.farm.statistics_rows import SpeedRows, Statistics
from rookery.farm.terms import Store
from rookery.files.access import FileAccessRows
from rookery.files.books import BookRows
from rookery.files.engine_files import NetRows, ProgramRows
from rookery.files.games import GameRows
from rookery.files.ownership import FileOwners
from rookery.files.places import FilePlace
from rookery.files.worker_logs import LogRows
from rookery.notify.link_mail import LinkMailRows
from rookery.notify.outbox import Channels, Outbox, Subscriptions
from rookery.people.teams import TeamRows
from rookery.people.users import Audit, EndedSessions, Tokens, Users
from rookery.rules.eligibility import Policy
from rookery.settings import Settings
from rookery.sources.git import FetchPolicy, Git
from rookery.sources.github import GitHub, RemoteSources
from rookery.sources.grants import GrantRows
from rookery.sources.mirrors import Mirrors
from rookery.web.front_end import find_folders, read_fetched
from rookery.web.rendering import Assets, read_assets
from rookery.web.site_parts import Storage
from rookery.web.steps import Process


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
