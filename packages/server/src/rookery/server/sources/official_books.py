"""Keeps the list of official books current: their names, sizes and hashes.

Official workers fetch these books themselves, from the repository whose `books.json` lists them.
Until the list is first read, the package's own list is used.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import msgspec

from rookery.core.books import OfficialBook
from rookery.core.boundary.offload import Threads
from rookery.core.clock import Clock
from rookery.core.protocol.codec import WireFault
from rookery.server.boundary.domains import Domain, runs
from rookery.server.farm.findings import FindingKind, FindingRows
from rookery.server.farm.submission_fields import book, book_sri
from rookery.server.files.books import BookStore
from rookery.server.logs import Log
from rookery.server.sources.commits import SourceError
from rookery.server.sources.survey import SourcePlace, Surveyor

LIST = "books.json"
MOST_BOOKS = 2000
ALL = ""
"""The subject of the only document."""


class ListedBook(msgspec.Struct, frozen=True):
    """A book in `books.json`; other fields are ignored."""

    total: int
    sri: str


@dataclass(slots=True)
class OfficialBookList:
    """The list of official books. One per process: the primary reads the repository, all processes
    read what it stored."""

    books: BookStore
    rows: FindingRows
    surveyor: Surveyor
    threads: Threads
    clock: Clock
    log: Log
    is_primary: Callable[[], bool]
    repository: str
    """The repository; empty if the operator wants none to be read."""

    async def load(self) -> None:
        """Load the stored list."""
        kept = await self.rows.load(FindingKind.BOOKS, [ALL], dict[str, ListedBook])
        if ALL in kept:
            self.books.official = dict(list_books(kept[ALL]))

    @runs(Domain.THREAD, "the list is fetched in a thread, rows are awaited")
    async def keep_current(self) -> None:
        """Do the periodic job: the primary reads the repository, the others the stored list."""
        found = await self.threads.io(self._read)
        if found is not None and self.is_primary():
            await self.rows.save(FindingKind.BOOKS, ALL, found, self.clock.now())
        await self.load()

    def _read(self) -> dict[str, ListedBook] | None:
        """Read the list from the repository; None if it has no readable list. Blocks."""
        if not (self.repository and self.is_primary()):
            return None
        try:
            text = self.surveyor.read_file(SourcePlace(self.repository), LIST)
            return msgspec.json.decode(text, type=dict[str, ListedBook])
        except (SourceError, msgspec.MsgspecError) as why:
            self.log.info("official_books_not_read", reason=str(why))
            return None


def list_books(listed: Mapping[str, ListedBook]) -> Iterator[tuple[str, OfficialBook]]:
    """Yield the books that a run can name, without entries with impossible names or hashes."""
    for name, entry in list(listed.items())[:MOST_BOOKS]:
        try:
            yield book("name", name), OfficialBook(name, entry.total, book_sri("sri", entry.sri))
        except WireFault:
            continue
