"""Records who owns a place of files: a mark in it names the database whose rows refer to its files.

    no mark --the primary looks--> the mark of its database
    the mark of another database --`rookery files claim`--> the mark of this one

Theory of operation. The sweep removes files that no row names. A server on a copy of a database
that uses the original's files, such as in a test of a restore, would thus remove every file that
arrived after the copy. A restored copy is a different database, in another cluster or under another
number, so the mark is not its own: the server then removes nothing, neither by a sweep nor when a
row is removed, and reports this. A physical copy of a whole cluster can't be told from the
original.
"""

from collections.abc import Iterator
from functools import partial
from threading import Lock
from typing import BinaryIO, Protocol

from rookery.core.boundary.offload import Threads
from rookery.core.errors import Complaint
from rookery.server.boundary.domains import Domain, runs
from rookery.server.disk import StorageAway
from rookery.server.files.blobs import Blobs, Draft, ListedBlob
from rookery.server.logs import Log

LONGEST_MARK = 200


class ForeignFiles(Complaint):
    """The files in a place belong to another database."""

    def __init__(self, place: str, owner: str) -> None:
        super().__init__(
            f"The files in {place} belong to another database ({owner}). Once no other farm uses"
            " them, `rookery files claim` makes them this one's."
        )


class Mark(Protocol):
    """The mark of a place. Both calls block and may raise StorageAway."""

    def read(self) -> str:
        """Return the name of the owning database; empty if there is no mark."""
        ...

    def write(self, owner: str) -> None: ...


class NoMark:
    """The mark of a place that belongs to no particular database, such as a folder of backups."""

    def read(self) -> str:
        return ""

    def write(self, owner: str) -> None:
        """Do nothing."""


def take_place(place: str, mark: Mark, database: str) -> None:
    """Mark a place without a mark, such as the target of a move; blocks. Raise ForeignFiles or
    StorageAway."""
    owner = mark.read()
    if not owner and database:
        mark.write(database)
    elif owner != database:
        raise ForeignFiles(place, owner)


class FileOwner:
    """What a process knows about the mark of one place. Usable from any thread."""

    def __init__(
        self, place: str, mark: Mark, database: str, log: Log, *, is_first: bool = True
    ) -> None:
        """`database` is empty if PostgreSQL does not reveal it: then no place is marked, and places
        without a mark count as ours. `is_first` distinguishes the place that files are written to
        from the other one of a move."""
        self._place = place
        self._mark = mark
        self._database = database
        self._log = log
        self._is_first = is_first
        self._owner: str | None = None
        self._lock = Lock()

    def look(self, *, writes: bool = False) -> str:
        """Return the owner according to the mark; blocks, and raises StorageAway. With `writes` a
        place without a mark is marked; only the primary does this, and only for the place of new
        files."""
        owner = self._mark.read()
        if not owner and writes and self._is_first and self._database:
            self._mark.write(self._database)
            owner = self._database
            self._log.info("files_marked", place=self._place, database=owner)
        with self._lock:
            before, self._owner = self._owner, owner
        if owner not in {"", self._database, before}:
            self._log.error(
                "files_of_another_database",
                place=self._place,
                owner=owner,
                database=self._database,
                advice="nothing is removed there; see rookery files claim",
            )
        return owner

    def may_sweep(self) -> bool:
        """Whether files that no row names may be removed; blocks."""
        return self._find() == self._database

    def may_remove(self) -> bool:
        """Whether a file may be removed after its row; blocks. A place for new files without a mark
        belongs to nobody else."""
        return self._find() in ({"", self._database} if self._is_first else {self._database})

    def _find(self) -> str:
        owner = self._owner
        return self.look() if owner is None else owner

    def describe_trouble(self) -> str:
        """Return a sentence for operators; empty if the files are ours or the owner is unknown."""
        if self._owner in {None, "", self._database}:
            return ""
        return f"{ForeignFiles(self._place, self._owner or '')} Nothing is removed there."


class FileOwners:
    """The owners of the places that a process reads from: one, or two during a move."""

    def __init__(self, database: str, threads: Threads, log: Log) -> None:
        self._database = database
        self._threads = threads
        self._log = log
        self._owners: list[FileOwner] = []

    def add(self, place: str, mark: Mark) -> FileOwner:
        """Add a place; the first one is the place for new files."""
        is_first = not self._owners
        owner = FileOwner(place, mark, self._database, self._log, is_first=is_first)
        self._owners.append(owner)
        return owner

    @runs(Domain.THREAD, "reads a mark from the storage in a thread")
    async def look(self, *, writes: bool) -> None:
        """Read the marks. Storage that is away is reported elsewhere, and asked again later."""
        for owner in self._owners:
            try:
                await self._threads.files(partial(owner.look, writes=writes))
            except StorageAway:
                return

    def describe_trouble(self) -> str:
        return " ".join(filter(None, (each.describe_trouble() for each in self._owners)))


class OwnedBlobs:
    """Blobs from which nothing is removed while another database owns their place."""

    def __init__(self, blobs: Blobs, owner: FileOwner) -> None:
        self._blobs = blobs
        self._owner = owner

    def draft(self, key: str = "") -> Draft:
        return self._blobs.draft(key)

    def open(self, key: str, start: int = 0) -> BinaryIO:
        return self._blobs.open(key, start)

    def fetch(self, key: str) -> BinaryIO:
        return self._blobs.fetch(key)

    def has(self, key: str) -> bool:
        return self._blobs.has(key)

    def remove(self, key: str) -> None:
        if self._owner.may_remove():
            self._blobs.remove(key)

    def list_all(self, *, older_than_seconds: float = 0.0) -> Iterator[ListedBlob]:
        """All blobs. Only sweeps give an age, which also removes unfinished files, so they need the
        right to remove."""
        if older_than_seconds and not self._owner.may_sweep():
            return
        yield from self._blobs.list_all(older_than_seconds=older_than_seconds)

    def sign(self, key: str, seconds: int) -> str:
        return self._blobs.sign(key, seconds)
