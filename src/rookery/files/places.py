"""Where files are: in the data folder, in a folder that several servers share, or in a bucket."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO
from urllib.parse import parse_qsl, unquote, urlsplit

from rookery.boundary.offload import Threads
from rookery.clock import Clock
from rookery.db.embedded.folder import Layout
from rookery.files.blobs import (
    Blobs,
    Draft,
    FolderBlobs,
    ListedBlob,
    UnknownBlob,
    remove_unfinished,
)
from rookery.files.bucket import Bucket, BucketAddress, BucketBlobs
from rookery.files.disk import MB, WatchedFolder
from rookery.files.storage_health import StorageHealth
from rookery.logs import Log
from rookery.settings import Settings, SettingsError

FOLDER = "blobs"
"""Of files in the data folder."""
SPOOL = "spool"
"""Of what is on its way to a bucket or from it."""
KINDS = ("games", "logs", "nets", "books", "binaries", "documents")
PACKED_KINDS = frozenset({"nets"})
"""Stored as gzip streams and fetched from a bucket by others, who have to be told."""
BUCKET_OPTIONS = frozenset({"endpoint", "region", "style"})


def read_place(url: str, *, named: str = "ROOKERY_FILES_URL") -> Path | BucketAddress:
    """The folder or bucket of an address; raises SettingsError."""
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
        raise SettingsError(f"{named} has the option {min(unknown)}; it may have {known}")
    return BucketAddress(
        parts.netloc,
        parts.path.strip("/"),
        endpoint=options.get("endpoint", "").rstrip("/"),
        region=options.get("region", "us-east-1"),
        by_host=options.get("style") == "host",
    )


class FilePlace:
    """A place with the files of all kinds."""

    def __init__(
        self, name: str, health: StorageHealth, open_blobs: Callable[[str], Blobs]
    ) -> None:
        self.name = name
        """For people; without secrets."""
        self.health = health
        self._open_blobs = open_blobs

    def blobs(self, kind: str) -> Blobs:
        """The files of one of KINDS."""
        return self._open_blobs(kind)


def open_place(
    place: Path | BucketAddress, settings: Settings, threads: Threads, clock: Clock, log: Log
) -> FilePlace:
    """Opens a place; asks nothing of it yet."""
    reserve = settings.disk_reserve_mb * MB
    name = str(place)
    if isinstance(place, Path):
        folder = place
        health = StorageHealth(name, threads, clock, log)
        return FilePlace(
            name, health, lambda kind: FolderBlobs(folder / kind, clock, reserve=reserve)
        )
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

    return FilePlace(name, health, open_blobs)


def open_files(settings: Settings, threads: Threads, clock: Clock, log: Log) -> FilePlace:
    """The files of a site, which reads what is not there yet from the place before."""
    place = open_place(find_place(settings), settings, threads, clock, log)
    if settings.files_old_url is None:
        return place
    before = read_place(settings.files_old_url, named="ROOKERY_FILES_OLD_URL")
    old = open_place(before, settings, threads, clock, log)
    return FilePlace(
        place.name, place.health, lambda kind: MovingBlobs(place.blobs(kind), old.blobs(kind))
    )


def find_place(settings: Settings) -> Path | BucketAddress:
    """Where the settings say that files are; raises SettingsError."""
    if settings.files_url is None:
        return settings.data / FOLDER
    return read_place(settings.files_url)


def watched_folders(settings: Settings) -> tuple[WatchedFolder, ...]:
    """Where database and files are, as far as their disks can be measured from here."""
    embedded, place = settings.database_url is None, find_place(settings)
    folders = [WatchedFolder(settings.data, embedded)]
    if embedded:
        folders.append(WatchedFolder(Layout(settings.data).home))
    if isinstance(place, Path):
        folders.append(WatchedFolder(place, holds_database=False))
    return tuple(folders)


def tidy_up(settings: Settings) -> None:
    """At the start: removes what processes that died have left in our own folder. A shared one may
    be on a file system without locks, and is tidied up by age."""
    if settings.files_url is None:
        remove_unfinished(settings.data / FOLDER)


class MovingBlobs:
    """Blobs on their way from one store to another: written to the new one, read from either."""

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
        """Of the new store alone: what is left in the old one is its operator's to remove."""
        return self._new.list_all(older_than_seconds=older_than_seconds)

    def sign(self, key: str, seconds: int) -> str:
        return self._new.sign(key, seconds) if self._new.has(key) else ""
