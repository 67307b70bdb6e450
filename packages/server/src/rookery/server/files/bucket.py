"""Blobs in S3-compatible storage, using obstore.

A new blob is spooled on this machine while it arrives, and uploaded when it is complete, in parts
if it is large. So a refused or interrupted upload never reaches the storage, and a slow uploader
holds no connection to it. A blob is read by ranges, one request each, so that a slow reader holds
no connection either.
"""

import contextlib
import io
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from rookery.core.clock import Clock
from rookery.core.errors import Complaint, message_in_docstring
from rookery.server.db.target import pass_test_point
from rookery.server.files.blobs import (
    FOLDER_CHARACTERS,
    RESERVE,
    ListedBlob,
    UnknownBlob,
    check_free_space,
    check_key,
    make_key,
)
from rookery.server.files.bucket_errors import translated_errors
from rookery.server.files.storage_health import StorageHealth

if TYPE_CHECKING:
    from obstore.store import S3Store

PART = 5 * 2**20
"""Bytes per request when a blob is uploaded in parts: the least that S3 accepts."""
PARTS_AT_ONCE = 2
PUT_SIZES = (2**14, 2**18, 2**20, PART)
"""Size classes of uploads; requests of one class share a time limit."""
LEAST_RATE = 64 * 1024
"""The slowest accepted upload rate in bytes per second, for the uplinks of homes."""
RANGE = 2**20
"""Bytes per request when a blob is read."""
IN_MEMORY = 256 * 1024
"""The largest draft that is kept in memory; larger ones are spooled to a file."""
CONNECT_SECONDS = 3
WHOLE_SECONDS = 3600
"""The time limit for a request that reads a whole blob, if the storage does not support ranges."""
PROBE = "probe"


class NoStorageClient(Complaint):
    """Files in S3-compatible storage need the package obstore: pip install 'rookery[s3]'."""

    exit_code = 2

    def __init__(self) -> None:
        super().__init__(message_in_docstring(type(self)))


@dataclass(frozen=True, slots=True)
class BucketAddress:
    """The address of a bucket; credentials are in the environment (AWS_ACCESS_KEY_ID and
    others)."""

    bucket: str
    prefix: str = ""
    endpoint: str = ""
    region: str = "us-east-1"
    by_host: bool = False
    """Whether the bucket is part of the host name instead of the path."""

    def __str__(self) -> str:
        path = f"/{self.prefix}" if self.prefix else ""
        at = f" at {self.endpoint}" if self.endpoint else ""
        return f"s3://{self.bucket}{path}{at}"


class Bucket:
    """The calls to one bucket, each with a time limit. Every error except a missing object is a
    StorageAway."""

    def __init__(self, address: BucketAddress, *, seconds: int = 8) -> None:
        """`seconds` is the time limit for the storage's answer to one request, in addition to the
        time for sending an upload; some requests are repeated once."""
        self._address = address
        self._store = _make_store(address, seconds, whole=3 * seconds)
        self._patient_store = _make_store(address, seconds, whole=WHOLE_SECONDS)
        # A client's time limit also includes the time of sending a body.
        self._put_stores = {
            size: _make_store(address, limit, whole=limit)
            for size, limit in ((size, seconds + size // LEAST_RATE) for size in PUT_SIZES)
        }
        self._has_ranges = True

    def put(self, path: str, file: BinaryIO, headers: dict[str, str]) -> None:
        """Upload the whole file. Raise DoubtfulCall if it took too long, since the uplink may be
        slow."""
        import obstore

        size = file.seek(0, io.SEEK_END)
        file.seek(0)
        fitting = next((most for most in PUT_SIZES if size <= most), PART)
        with translated_errors(missing_is_away=True, slow_is_doubtful=True):
            obstore.put(
                self._put_stores[fitting],
                path,
                file,
                attributes=cast("Any", headers),
                use_multipart=None,
                chunk_size=PART,
                max_concurrency=PARTS_AT_ONCE,
            )

    def read(self, path: str, start: int) -> bytes | None:
        """Up to RANGE bytes from `start` on, empty at the end; None if the storage does not support
        ranges. Raises FileNotFoundError."""
        import obstore

        if not self._has_ranges:
            return None
        with translated_errors():
            try:
                found = obstore.get(
                    self._store, path, options={"range": (start, start + RANGE)}
                ).bytes()
            except Exception as error:
                # Some servers send the requested range but declare it as the whole object.
                if "non-partial response" in str(error):
                    self._has_ranges = False
                    return None
                if "416 Range Not Satisfiable" in str(error) or "InvalidRange" in str(error):
                    return b""
                raise
        return bytes(found)

    def read_whole(self, path: str, start: int) -> Iterator[bytes]:
        """All bytes from `start` on, in one request; raises FileNotFoundError."""
        import obstore

        with translated_errors():
            skipped = start
            for piece in obstore.get(self._patient_store, path).stream(min_chunk_size=RANGE):
                data = bytes(piece)
                if skipped < len(data):
                    yield data[skipped:]
                skipped = max(0, skipped - len(data))

    def has(self, path: str) -> bool:
        import obstore

        with translated_errors():
            try:
                obstore.head(self._store, path)
            except FileNotFoundError:
                return False
        return True

    def remove(self, path: str) -> None:
        import obstore

        with translated_errors(), contextlib.suppress(FileNotFoundError):
            obstore.delete(self._store, path)

    def list_all(self, folder: str) -> Iterator[Any]:
        """Yield the metadata that obstore gives for each object in a folder."""
        import obstore

        with translated_errors(missing_is_away=True):
            for batch in obstore.list(self._store, prefix=f"{folder}/", chunk_size=1000):
                yield from batch

    def sign(self, path: str, seconds: int) -> str:
        import obstore

        with translated_errors():
            return str(obstore.sign(self._store, "GET", path, timedelta(seconds=seconds)))

    def probe(self, writes: bool) -> None:
        """Read a small object, or with `writes` writes it first; raise StorageAway."""
        if writes:
            self.put(PROBE, io.BytesIO(b"rookery"), {})
        self.has(PROBE)


def _make_store(address: BucketAddress, seconds: int, *, whole: int) -> "S3Store":
    try:
        from obstore.store import S3Store
    except ModuleNotFoundError:
        raise NoStorageClient from None
    config: dict[str, Any] = {"region": address.region}
    if address.endpoint:
        config["endpoint"] = address.endpoint
    return S3Store(
        address.bucket,
        prefix=address.prefix or None,
        virtual_hosted_style_request=address.by_host,
        client_options={
            "allow_http": address.endpoint.startswith("http://"),
            "connect_timeout": timedelta(seconds=min(CONNECT_SECONDS, seconds)),
            "read_timeout": timedelta(seconds=seconds),
            "timeout": timedelta(seconds=whole),
            "user_agent": "rookery",
        },
        retry_config={"max_retries": 1, "retry_timeout": timedelta(seconds=seconds)},
        **config,
    )


class BucketBlobs:
    """The blobs of one kind in a bucket, below their own prefix."""

    def __init__(  # noqa: PLR0913 - settings of one place, made in one place
        self,
        bucket: Bucket,
        name: str,
        health: StorageHealth,
        clock: Clock,
        *,
        spool: Path,
        reserve: int = RESERVE,
        headers: dict[str, str] | None = None,
    ) -> None:
        """Let the storage send `headers` with every blob that is fetched from it directly."""
        self._bucket = bucket
        self._name = name
        self._health = health
        self._clock = clock
        self._spool = spool
        self._reserve = reserve
        self._headers = headers or {}

    def draft(self, key: str = "") -> "BucketDraft":
        return BucketDraft(self, check_key(key or make_key()), self._spool, self._reserve)

    def put(self, key: str, file: BinaryIO) -> None:
        with self._health.watch("put"):
            self._bucket.put(self._path(key), file, self._headers)

    def open(self, key: str, start: int = 0) -> BinaryIO:
        path = self._path(key)
        try:
            with self._health.watch("get"):
                first = self._bucket.read(path, start)
            if first is None:
                pieces = self._read_whole(path, start)
                first = next(pieces, b"")
            else:
                pieces = self._read_ranges(path, start + len(first), last=len(first))
        except FileNotFoundError:
            raise UnknownBlob(key) from None
        return cast("BinaryIO", io.BufferedReader(_PiecedFile(first, pieces), RANGE))

    def _read_ranges(self, path: str, start: int, *, last: int) -> Iterator[bytes]:
        """Yield the ranges from `start` on; a short one is the last of the object."""
        while last == RANGE:
            with self._health.watch("get"):
                piece = self._bucket.read(path, start) or b""
            start, last = start + len(piece), len(piece)
            yield piece

    def _read_whole(self, path: str, start: int) -> Iterator[bytes]:
        with self._health.watch("get"):
            yield from self._bucket.read_whole(path, start)

    def fetch(self, key: str) -> BinaryIO:
        copied = _open_spool(self._spool)
        try:
            with self.open(key) as file:
                while piece := file.read(RANGE):
                    check_free_space(copied.fileno(), self._reserve, len(piece))
                    copied.write(piece)
        except BaseException:
            copied.close()
            raise
        copied.seek(0)
        return copied

    def has(self, key: str) -> bool:
        try:
            path = self._path(key)
        except UnknownBlob:
            return False
        with self._health.watch("head"):
            return self._bucket.has(path)

    def remove(self, key: str) -> None:
        with self._health.watch("delete"):
            self._bucket.remove(self._path(key))

    def list_all(self, *, older_than_seconds: float = 0.0) -> Iterator[ListedBlob]:
        before = self._clock.now() - timedelta(seconds=older_than_seconds)
        with self._health.watch("list"):
            for found in self._bucket.list_all(self._name):
                if not older_than_seconds or found["last_modified"] < before:
                    yield ListedBlob(found["path"].rpartition("/")[2], found["size"])

    def sign(self, key: str, seconds: int) -> str:
        with self._health.watch("sign"):
            return self._bucket.sign(self._path(key), seconds)

    def _path(self, key: str) -> str:
        return f"{self._name}/{check_key(key)[:FOLDER_CHARACTERS]}/{key}"


class BucketDraft:
    """A draft spooled in memory or in an unnamed file, which disappears with the process."""

    def __init__(self, blobs: BucketBlobs, key: str, spool: Path, reserve: int) -> None:
        self._blobs = blobs
        self._key = key
        self._spool = spool
        self._reserve = reserve
        self._file: BinaryIO = io.BytesIO()
        self._in_memory = True

    def write(self, data: bytes) -> None:
        if self._in_memory and self._file.tell() + len(data) > IN_MEMORY:
            spooled = _open_spool(self._spool)
            spooled.write(cast("io.BytesIO", self._file).getvalue())
            self._file, self._in_memory = spooled, False
        if not self._in_memory:
            check_free_space(self._file.fileno(), self._reserve, len(data))
        self._file.write(data)

    def open(self) -> BinaryIO:
        if self._in_memory:
            return io.BytesIO(cast("io.BytesIO", self._file).getvalue())
        self._file.flush()
        return Path(f"/proc/self/fd/{self._file.fileno()}").open("rb")

    def keep(self) -> str:
        self._file.seek(0)
        pass_test_point("blob_before_put")
        self._blobs.put(self._key, self._file)
        pass_test_point("blob_after_put")
        return self._key

    def drop(self) -> None:
        self._file.close()


def _open_spool(folder: Path) -> BinaryIO:
    """Create an unnamed file."""
    folder.mkdir(parents=True, exist_ok=True)
    return cast("BinaryIO", tempfile.TemporaryFile(dir=folder))


class _PiecedFile(io.RawIOBase):
    """An object as a file; its pieces are fetched on demand."""

    def __init__(self, first: bytes, pieces: Iterator[bytes]) -> None:
        self._data = memoryview(first)
        self._pieces = pieces

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._data:
            self._data = memoryview(next(self._pieces, b""))
        count = min(len(buffer), len(self._data))
        buffer[:count] = self._data[:count]
        self._data = self._data[count:]
        return count
