"""What engines and openings are fetched from, on rows and folders or on twins in memory."""

from rookery.boundary.gate import Gate
from rookery.clock import Clock
from rookery.outside.addresses import Reach
from rookery.outside.commits import OutsideCommits
from rookery.outside.git import Git
from rookery.outside.github import GitHub
from rookery.outside.mirrors import Mirrors
from rookery.service.fleet.fleet import Fleet
from rookery.service.quotas import MB
from rookery.service.sources.archives import Archives, NoArchiver
from rookery.service.sources.binaries import BinaryStore
from rookery.service.sources.books import BookStore
from rookery.service.sources.commits import Commits, NoFinder
from rookery.service.sources.sources import Shelf, Sources
from rookery.settings import Settings
from rookery.storage.binaries import MemoryBinaries, PostgresBinaries
from rookery.storage.blobs import FolderBlobs, MemoryBlobs
from rookery.storage.books import MemoryBooks, PostgresBooks
from rookery.storage.pool import Pool
from rookery.storage.queries import Queries
from rookery.web.house import Basis

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


def memory_shelf() -> Shelf:
    return Shelf(MemoryBinaries(), MemoryBlobs(), MemoryBooks(), MemoryBlobs())
