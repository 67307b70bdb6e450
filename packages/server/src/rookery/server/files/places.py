"""Opens the place of files: the data folder, a folder that servers share, or a bucket."""

import io
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import BinaryIO
from urllib.parse import parse_qsl, unquote, urlsplit

from rookery.core.boundary.offload import Threads
from rookery.core.clock import Clock
from rookery.server.db.embedded.folder import Layout
from rookery.server.db.target import Problem, sync
from rookery.server.disk import MB, WatchedFolder
from rookery.server.files.blobs import (
    Blobs,
    Draft,
    FolderBlobs,
    ListedBlob,
    UnknownBlob,
    remove_unfinished,
    translated_errors,
)
from rookery.server.files.bucket import Bucket, BucketAddress, BucketBlobs
from rookery.server.files.ownership import LONGEST_MARK, FileOwners, Mark, NoMark, OwnedBlobs
from rookery.server.files.storage_health import StorageHealth
from rookery.server.logs import Log
from rookery.server.settings import Settings, SettingsError

FOLDER = "blobs"
"""The folder of files within the data folder."""
SPOOL = "spool"
"""The folder of files on their way to or from a bucket."""
PACKED_KINDS = frozenset({"games", "nets"})
"""Kinds stored as gzip streams, which clients that fetch them from a bucket must be told."""
BUCKET_OPTIONS = frozenset({"endpoint", "region", "style"})


def read_place(url: str, *, named: str = "ROOKERY_FILES_URL") -> Path | BucketAddress:
    """Return the folder or bucket of an address; raise SettingsError."""
    parts = urlsplit(url)
    if parts.scheme in {"", "file"} and parts.path.startswith("/") and not parts.netloc:
        return Path(unquote(parts.path))
    if parts.scheme != "s3" or not parts.netloc or "@" in parts.netloc:
        raise SettingsError(
            f"{named} takes a folder's path, or s3://bucket/prefix?endpoint=https://host&region=name"
        )
    options = dict(parse_qsl(parts.query))
    if unknown := options.keys() - BUCKET_OPTIONS:
        known = ", ".join(sorted(BUCKET_OPTIONS))
        raise SettingsError(
            f"{named} has the unknown option {min(unknown)}; known ones are {known}"
        )
    return BucketAddress(
        parts.netloc,
        parts.path.strip("/"),
        endpoint=options.get("endpoint", "").rstrip("/"),
        region=options.get("region", "us-east-1"),
        by_host=options.get("style") == "host",
    )


def refuse_lost_database(settings: Settings) -> None:
    """Raise a Problem where a new database would be made beside the files of an earlier one;
    blocks."""
    layout, files = Layout(settings.data), settings.data / FOLDER
    if settings.database_url is None and not layout.cluster.exists() and _has_files(files):
        raise Problem(
            "The folder {path} has files of a farm but no database: put the database back, or "
            "restore a backup into an empty folder (`rookery db restore`). To begin an empty "
            "farm here, move {files} away first.",
            path=settings.data,
            files=files,
        )


def _has_files(folder: Path) -> bool:
    return any(path.is_file() for path in folder.glob("*/**/*"))


class FilePlace:
    """A place with the files of all kinds."""

    def __init__(
        self,
        name: str,
        health: StorageHealth,
        open_blobs: Callable[[str], Blobs],
        mark: Mark | None = None,
    ) -> None:
        self.name = name
        """A name for people, without secrets."""
        self.health = health
        self.mark = mark or NoMark()
        """The mark of the place's owner."""
        self._open_blobs = open_blobs

    def blobs(self, kind: str) -> Blobs:
        """Return the files of one kind, by the name of their folder."""
        return self._open_blobs(kind)


def open_place(
    place: Path | BucketAddress, settings: Settings, threads: Threads, clock: Clock, log: Log
) -> FilePlace:
    """Open a place without accessing it."""
    reserve = settings.disk_reserve_mb * MB
    name = str(place)
    if isinstance(place, Path):
        return _open_folder(place, settings, threads, clock, log)
    bucket = Bucket(place, seconds=settings.files_seconds)
    health = StorageHealth(name, threads, clock, log, probe=bucket.probe)

    def open_blobs(kind: str) -> BucketBlobs:
        packed = {"Content-Encoding": "gzip"} if kind in PACKED_KINDS else None
        return BucketBlobs(
            bucket,
            kind,
            health,
            clock,
            spool=settings.data / SPOOL,
            reserve=reserve,
            headers=packed,
        )

    return FilePlace(name, health, open_blobs, BucketMark(bucket, health))


def _open_folder(
    folder: Path, settings: Settings, threads: Threads, clock: Clock, log: Log
) -> FilePlace:
    """Our own folder is on the same disk as everything else; another one may become unavailable."""
    reserve = settings.disk_reserve_mb * MB

    def open_blobs(kind: str) -> FolderBlobs:
        return FolderBlobs(folder / kind, clock, reserve=reserve)

    if folder == settings.data / FOLDER:
        health = StorageHealth(str(folder), threads, clock, log)
        return FilePlace(str(folder), health, open_blobs, FolderMark(folder))
    probe = partial(probe_folder, folder)
    health = StorageHealth(str(folder), threads, clock, log, probe=probe)
    return FilePlace(
        str(folder),
        health,
        lambda kind: SharedBlobs(open_blobs(kind), folder, health),
        SharedMark(folder, health),
    )


def open_files(
    settings: Settings, threads: Threads, clock: Clock, log: Log, owners: FileOwners | None = None
) -> FilePlace:
    """Return the files of a site; during a move, files that are missing are read from the other
    place. With `owners`, nothing is removed from a place of another database."""
    place = open_place(find_place(settings), settings, threads, clock, log)
    place = _guard(place, owners)
    if settings.files_old_url is None:
        return place
    before = read_place(settings.files_old_url, named="ROOKERY_FILES_OLD_URL")
    old = _guard(open_place(before, settings, threads, clock, log), owners)
    place.health.include(old.health)
    return FilePlace(
        place.name,
        place.health,
        lambda kind: MovingBlobs(place.blobs(kind), old.blobs(kind)),
        place.mark,
    )


def _guard(place: FilePlace, owners: FileOwners | None) -> FilePlace:
    """Return the place, protected from removals while another database owns it."""
    if owners is None:
        return place
    owner = owners.add(place.name, place.mark)
    return FilePlace(
        place.name, place.health, lambda kind: OwnedBlobs(place.blobs(kind), owner), place.mark
    )


def find_place(settings: Settings) -> Path | BucketAddress:
    """Return the place of files according to the settings; raise SettingsError."""
    if settings.files_url is None:
        return settings.data / FOLDER
    return read_place(settings.files_url)


def shared_folders(settings: Settings) -> tuple[Path, ...]:
    """Return the folders outside of our own that have files now or had them before."""
    urls = (settings.files_url, settings.files_old_url)
    places = [read_place(url) for url in urls if url is not None]
    return tuple(place for place in places if isinstance(place, Path))


def watched_folders(settings: Settings) -> tuple[WatchedFolder, ...]:
    """Return the folders of the database and files whose disks can be measured from here."""
    embedded, place = settings.database_url is None, find_place(settings)
    folders = [WatchedFolder(settings.data, embedded)]
    if embedded:
        folders.append(WatchedFolder(Layout(settings.data).home))
    if isinstance(place, Path):
        folders.append(WatchedFolder(place, holds_database=False))
    return tuple(folders)


def make_folder(place: Path | BucketAddress) -> None:
    """Create a folder for files before its first use, or raise SettingsError. Later it is never
    created: a missing one may just not be mounted."""
    try:
        if isinstance(place, Path):
            place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(
            f"The folder {place} for files cannot be made ({error.strerror}): make it, or name"
            " another."
        ) from None


def tidy_up(settings: Settings) -> None:
    """Remove, at the start, what dead processes left in our own folder. A shared one may lack
    locks, so it is cleaned by age."""
    make_folder(find_place(settings))
    if settings.files_url is None:
        remove_unfinished(settings.data / FOLDER)


PROBE = ".probe"


def probe_folder(folder: Path, writes: bool) -> None:
    """Read a shared folder, or write a file into it; blocks, and raises StorageAway. A missing
    folder is not created: it may just not be mounted."""
    with translated_errors():
        folder.stat()
        if not writes:
            return
        path = folder / f"{PROBE}-{secrets.token_hex(4)}"
        path.write_bytes(b"rookery")
        path.unlink()


MARK = "owner"
"""The name of the object, or with a leading dot of the file, that names a place's owner."""


class FolderMark:
    """A mark in a small file in the folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self) -> str:
        try:
            return (self._folder / f".{MARK}").read_text("ascii")[:LONGEST_MARK].strip()
        except FileNotFoundError:
            return ""

    def write(self, owner: str) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        draft = self._folder / f".{MARK}-{secrets.token_hex(4)}"
        draft.write_text(f"{owner}\n", "ascii")
        sync(draft)
        draft.rename(self._folder / f".{MARK}")
        sync(self._folder)


class SharedMark:
    """A mark in a folder of another machine, which may not answer."""

    def __init__(self, folder: Path, health: StorageHealth) -> None:
        self._folder = folder
        self._mark = FolderMark(folder)
        self._health = health

    def read(self) -> str:
        with self._health.watch("mark"), translated_errors():
            self._folder.stat()
            return self._mark.read()

    def write(self, owner: str) -> None:
        with self._health.watch("mark"), translated_errors():
            self._folder.stat()
            self._mark.write(owner)


class BucketMark:
    """A mark in a small object in the bucket."""

    def __init__(self, bucket: Bucket, health: StorageHealth) -> None:
        self._bucket = bucket
        self._health = health

    def read(self) -> str:
        with self._health.watch("mark"):
            try:
                found = b"".join(self._bucket.read_whole(MARK, 0))
            except FileNotFoundError:
                return ""
        return found[:LONGEST_MARK].decode("ascii", "replace").strip()

    def write(self, owner: str) -> None:
        with self._health.watch("mark"):
            self._bucket.put(MARK, io.BytesIO(f"{owner}\n".encode("ascii")), {})


class SharedBlobs:
    """Blobs in a folder of another machine, which may not answer."""

    def __init__(self, blobs: FolderBlobs, folder: Path, health: StorageHealth) -> None:
        self._blobs = blobs
        self._folder = folder
        self._health = health

    @contextmanager
    def _asked(self, call: str) -> Iterator[FolderBlobs]:
        with self._health.watch(call), translated_errors():
            yield self._blobs

    def draft(self, key: str = "") -> Draft:
        with self._asked("draft") as blobs:
            self._folder.stat()
            return SharedDraft(blobs.draft(key), self._health)

    def open(self, key: str, start: int = 0) -> BinaryIO:
        with self._asked("get") as blobs:
            return blobs.open(key, start)

    def fetch(self, key: str) -> BinaryIO:
        return self.open(key)

    def has(self, key: str) -> bool:
        with self._asked("head") as blobs:
            self._folder.stat()
            return blobs.has(key)

    def remove(self, key: str) -> None:
        with self._asked("delete") as blobs:
            blobs.remove(key)

    def list_all(self, *, older_than_seconds: float = 0.0) -> Iterator[ListedBlob]:
        with self._asked("list") as blobs:
            self._folder.stat()
            yield from blobs.list_all(older_than_seconds=older_than_seconds)

    def sign(self, key: str, seconds: int) -> str:
        return self._blobs.sign(key, seconds)


class SharedDraft:
    """A draft in a folder of another machine."""

    def __init__(self, draft: Draft, health: StorageHealth) -> None:
        self._draft = draft
        self._health = health

    def write(self, data: bytes) -> None:
        with self._health.watch("write"), translated_errors():
            self._draft.write(data)

    def open(self) -> BinaryIO:
        with self._health.watch("get"), translated_errors():
            return self._draft.open()

    def keep(self) -> str:
        with self._health.watch("put"), translated_errors():
            return self._draft.keep()

    def drop(self) -> None:
        with suppress(OSError):
            self._draft.drop()


class MovingBlobs:
    """Blobs during a move from one store to another: written to one, read from both.

    Servers write to the old store until all of them read from both, and then to the new one, so
    that every server always finds every file.
    """

    def __init__(self, new: Blobs, old: Blobs) -> None:
        self._new = new
        self._old = old

    def draft(self, key: str = "") -> Draft:
        return self._new.draft(key)

    def open(self, key: str, start: int = 0) -> BinaryIO:
        try:
            return self._new.open(key, start)
        except UnknownBlob:
            return self._old.open(key, start)

    def fetch(self, key: str) -> BinaryIO:
        try:
            return self._new.fetch(key)
        except UnknownBlob:
            return self._old.fetch(key)

    def has(self, key: str) -> bool:
        return self._new.has(key) or self._old.has(key)

    def remove(self, key: str) -> None:
        self._new.remove(key)
        self._old.remove(key)

    def list_all(self, *, older_than_seconds: float = 0.0) -> Iterator[ListedBlob]:
        """All blobs of the new store only; the operator removes what is left in the old one."""
        return self._new.list_all(older_than_seconds=older_than_seconds)

    def sign(self, key: str, seconds: int) -> str:
        return self._new.sign(key, seconds) if self._new.has(key) else ""
