"""Backups of the database together with the files that its rows name, in one folder.

    FOLDER/rookery-20300102-030405.dump    the database at one moment
    FOLDER/rookery-20300102-030405.files   the files that its rows name: kind, key, size, SHA-256
    FOLDER/files/KIND/..                   the files of all backups in the folder, each once

Theory of operation. The dump and the list of files are read from one snapshot. Then every listed
file is copied unless an earlier backup has it, since files never change. Servers keep running: they
may remove rows, but no files while the backup holds its lock (`FileRows.forget`); the next sweep
removes what is left over. The dump gets its final name last, after the list is on disk, so every
dump with that name has all its files.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from rookery.core.boundary.offload import Threads
from rookery.core.clock import Clock
from rookery.server.db.access import load_database_name
from rookery.server.db.backup import (
    BACKUP_FAILED,
    RESTORE_FAILED,
    Programs,
    backup,
    check_place,
    restore,
)
from rookery.server.db.connecting import OwnConnection, connect
from rookery.server.db.migrations import Migration
from rookery.server.db.pool import CONNECT_SECONDS, Queries
from rookery.server.db.target import Problem, Target, sync
from rookery.server.files.blobs import FolderBlobs
from rookery.server.files.copying import (
    TABLES,
    CopiedBlob,
    Copier,
    CopyCounts,
    digest_blob,
    list_named,
)
from rookery.server.files.ownership import take_place
from rookery.server.files.places import FilePlace
from rookery.server.files.storage_health import StorageHealth

DUMP, LIST, FILES = ".dump", ".files", "files"
NAME = "rookery-%Y%m%d-%H%M%S"
WAIT_SECONDS = 60
COUNT = "count"
"""The first word of a list's last line. That line has as many words as the others, so that an
earlier version takes it for a file of an unknown kind and ignores it."""


@dataclass(frozen=True, slots=True)
class BackupReport:
    """What a backup contains, and what making it took."""

    name: str
    seconds: float
    dump_bytes: int
    files: int
    file_bytes: int
    copied: int
    lost: tuple[str, ...]
    """Files that rows name but that did not exist."""


@dataclass(frozen=True, slots=True)
class FileList:
    """The list of a backup's files as read from the folder."""

    files: dict[tuple[str, str], CopiedBlob]
    """The files by kind and key."""
    count: int | None
    """The number of files that were written; None in lists of earlier versions."""

    @property
    def is_whole(self) -> bool:
        return self.count in {None, len(self.files)}


class BackupFolder:
    """A folder with backups. Its methods block."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def dump(self, name: str) -> Path:
        return self.path / f"{name}{DUMP}"

    def names(self) -> list[str]:
        """All complete backups, the oldest first."""
        return sorted(path.stem for path in self.path.glob(f"rookery-*{DUMP}"))

    def read_list(self, name: str) -> FileList:
        """Return the list of a backup. A list that was cut short has no count, perhaps after a
        broken line."""
        files, count = dict[tuple[str, str], CopiedBlob](), None
        for line in (self.path / f"{name}{LIST}").read_text("ascii").splitlines():
            words = line.split()
            if len(words) != len(("kind", "key", "size", "sha256")) or not words[2].isdigit():
                return FileList(files, -1)
            kind, key, size, sha256 = words
            if kind == COUNT:
                count = int(size)
            else:
                files[kind, key] = CopiedBlob(key, int(size), sha256)
        return FileList(files, count)

    def write_list(self, name: str, files: Sequence[tuple[str, CopiedBlob]]) -> None:
        """Write the list to the disk, with the number of files in its last line."""
        lines = [f"{kind} {each.key} {each.size} {each.sha256}\n" for kind, each in files]
        path = self.path / f"{name}{LIST}"
        # The list is secret too: the server gives a private net to anybody who knows its digest.
        path.touch(mode=0o600)
        path.write_text("".join((*lines, f"{COUNT} - {len(files)} -\n")), "ascii")
        sync(path)
        sync(self.path)

    def name_dump(self, draft: Path, name: str) -> None:
        """Complete a backup whose list is written."""
        draft.replace(self.dump(name))
        sync(self.path)

    def prune(self, keep: int) -> int:
        """Remove all but the newest `keep` backups, and the files that only those named; return the
        number of removed backups. If a list is damaged, nobody knows which files are still needed,
        so all files stay."""
        names = self.names()
        old = names[: max(0, len(names) - keep)]
        for name in old:
            self.dump(name).unlink()
            (self.path / f"{name}{LIST}").unlink(missing_ok=True)
        lists = [self.read_list(name) for name in self.names()] if old else []
        if old and all(each.is_whole for each in lists):
            kept = {file for each in lists for file in each.files}
            for path in (self.path / FILES).glob("*/*/*"):
                if (path.parts[-3], path.name) not in kept:
                    path.unlink()
        return len(old)

    def make(self) -> None:
        """Create the folder, and the one for files, which only this account may enter even if the
        backup folder existed before. Raise a Problem if that fails."""
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            (self.path / FILES).mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise Problem(BACKUP_FAILED, reason=f"{self.path}: {error.strerror}") from None
        with contextlib.suppress(OSError):  # a file system that knows no rights
            (self.path / FILES).chmod(0o700)

    def place(self, threads: Threads, clock: Clock) -> FilePlace:
        """Return the place of the backup's files. No disk space is kept in reserve there, because
        the database is elsewhere."""
        folder = self.path / FILES
        health = StorageHealth(str(folder), threads, clock)
        return FilePlace(
            str(folder), health, lambda kind: FolderBlobs(folder / kind, clock, reserve=0)
        )


@dataclass(frozen=True, slots=True)
class BackupTools:
    """The connections and objects that backing up and restoring need."""

    target: Target
    queries: Queries
    files: FilePlace
    programs: Programs
    threads: Threads
    clock: Clock
    note: Callable[[CopyCounts], object]


async def back_up(tools: BackupTools, folder: BackupFolder, *, keep: int = 0) -> BackupReport:
    """Make one more backup in the folder, then remove all but the newest `keep`; 0 for none."""
    threads, began = tools.threads, tools.clock.seconds()
    await threads.io(folder.make)
    name = tools.clock.now().strftime(NAME)
    draft = folder.path / f"{name}.draft"
    counts, listed = CopyCounts(), list[tuple[str, CopiedBlob]]()
    try:
        async with lock_file_removal(tools) as connection:
            async with connection.transaction(isolation="repeatable_read", readonly=True):
                snapshot = await connection.fetchval("SELECT pg_export_snapshot()")
                size = await backup(tools.target, draft, tools.programs, snapshot=snapshot)
                named = {kind: await _list_all(tools, connection, kind) for kind in TABLES}
            before = await threads.io(_read_known, folder)
            for kind, keys in named.items():
                found = await _copy_kind(tools, folder, kind, keys, before, counts)
                listed += [(kind, each) for each in found]
            await threads.io(folder.write_list, name, listed)
            await threads.io(folder.name_dump, draft, name)
            if keep:
                await threads.io(folder.prune, keep)
    finally:
        await threads.io(draft.unlink, missing_ok=True)
    return BackupReport(
        name,
        tools.clock.seconds() - began,
        size,
        len(listed),
        sum(each.size for _, each in listed),
        counts.copied,
        tuple(counts.lost),
    )


@asynccontextmanager
async def lock_file_removal(tools: BackupTools) -> AsyncIterator[OwnConnection]:
    """Hold the lock of backups on a separate connection: no server removes a file until the block
    ends."""
    connection = await connect(tools.target, seconds=CONNECT_SECONDS)
    try:
        await connection.execute("SET idle_in_transaction_session_timeout = 0")
        async with asyncio.timeout(WAIT_SECONDS):
            await connection.execute(tools.queries["files_hold"])
        yield connection
    except TimeoutError:
        raise Problem(BACKUP_FAILED, reason="another backup is under way") from None
    finally:
        await connection.close()


async def _list_all(tools: BackupTools, connection: OwnConnection, kind: str) -> list[str]:
    pages = list_named(connection, tools.queries, kind)
    return [file.key async for page in pages for file in page]


def _read_known(folder: BackupFolder) -> dict[tuple[str, str], CopiedBlob]:
    """Return the files of earlier backups, which need not be read again."""
    known: dict[tuple[str, str], CopiedBlob] = {}
    for name in folder.names():
        known |= folder.read_list(name).files
    return known


async def _copy_kind(
    tools: BackupTools,
    folder: BackupFolder,
    kind: str,
    keys: Sequence[str],
    known: dict[tuple[str, str], CopiedBlob],
    counts: CopyCounts,
) -> list[CopiedBlob]:
    """Copy the files that the folder lacks; return all of `keys` that it has then."""
    threads = tools.threads
    place = folder.place(threads, tools.clock)
    copier = Copier(kind, tools.files, place, threads, counts, tools.note)
    await copier.look()
    copied = {each.key: each for each in await copier.copy(keys)}
    lost = {name.partition("/")[2] for name in counts.lost if name.startswith(f"{kind}/")}
    found: list[CopiedBlob] = []
    for key in keys:
        if key not in lost:
            one = copied.get(key) or known.get((kind, key))
            if one is None:  # left by an interrupted backup: complete, but in no list
                one = await threads.files(digest_blob, place.blobs(kind), key)
            found.append(one)
    return found


async def restore_backup(
    tools: BackupTools,
    folder: BackupFolder,
    name: str,
    *,
    known: Sequence[Migration],
    force: bool = False,
) -> CopyCounts:
    """Restore a backup: first its files, each checked against its digest, then the database."""
    threads, counts = tools.threads, CopyCounts()
    await check_place(tools.target, force=force)
    listed = await threads.io(folder.read_list, name)
    if not listed.is_whole:
        raise Problem(RESTORE_FAILED, reason=f"the list {name}{LIST} is damaged or cut short")
    wanted = listed.files
    place = folder.place(threads, tools.clock)
    for kind in TABLES:
        copier = Copier(kind, place, tools.files, threads, counts, tools.note)
        await copier.look()
        keys = [key for of_kind, key in wanted if of_kind == kind]
        for copied in await copier.copy(keys):
            if copied != wanted[kind, copied.key]:
                raise Problem(RESTORE_FAILED, reason=f"the file {kind}/{copied.key} is damaged")
    if counts.lost:
        raise Problem(RESTORE_FAILED, reason=f"the backup lacks the file {counts.lost[0]}")
    dump = folder.dump(name)
    await restore(tools.target, dump, tools.programs, known=known, force=force)
    return counts


async def claim_files(tools: BackupTools) -> None:
    """Mark a place without a mark as this database's, after a restore. Raise ForeignFiles if it
    belongs to another database; then nothing in it is removed."""
    connection = await connect(tools.target, seconds=CONNECT_SECONDS)
    try:
        database = await load_database_name(connection, tools.queries)
    finally:
        await connection.close()
    await tools.threads.files(take_place, tools.files.name, tools.files.mark, database)


def choose_backup(folder: BackupFolder, name: str = "") -> str:
    """Return the backup of that name, or the newest one; raise a Problem if it is not there."""
    names = folder.names()
    wanted = name.removesuffix(DUMP) or (names[-1] if names else "")
    if wanted not in names:
        raise Problem(
            RESTORE_FAILED, reason=" ".join(f"there is no backup {wanted} in {folder.path}".split())
        )
    return wanted
