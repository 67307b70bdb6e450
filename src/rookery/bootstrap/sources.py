"""What engines and openings are fetched from, on rows and folders or on twins in memory."""

from pathlib import Path

from rookery.clock import Clock
from rookery.service.fleet.fleet import Fleet
from rookery.service.sources.binaries import BinaryStore
from rookery.service.sources.books import BookStore
from rookery.service.sources.sources import Shelf, Sources
from rookery.storage.binaries import MemoryBinaries, PostgresBinaries
from rookery.storage.blobs import FolderBlobs, MemoryBlobs
from rookery.storage.books import MemoryBooks, PostgresBooks
from rookery.storage.pool import Pool
from rookery.storage.queries import Queries
from rookery.web.house import Basis


def make_sources(basis: Basis, shelf: Shelf, fleet: Fleet) -> Sources:
    threads, clock = basis.threads, basis.clock
    return Sources(
        shelf,
        BinaryStore(shelf.binaries, shelf.binary_files, threads, clock),
        BookStore(shelf.books, shelf.book_files, threads, clock, fleet.active),
        threads,
    )


def kept_shelf(data: Path, pool: Pool, queries: Queries, clock: Clock) -> Shelf:
    blobs = data / "blobs"
    return Shelf(
        PostgresBinaries(pool, queries),
        FolderBlobs(blobs / "binaries", clock),
        PostgresBooks(pool, queries),
        FolderBlobs(blobs / "books", clock),
    )


def memory_shelf() -> Shelf:
    return Shelf(MemoryBinaries(), MemoryBlobs(), MemoryBooks(), MemoryBlobs())
