"""What people upload, and engines, in the JSON API."""

from datetime import datetime

from msgspec import UNSET, Struct, UnsetType

from rookery.protocol.engine_record import EngineRecord
from rookery.protocol.fields import Count


class Uploaded(Struct, frozen=True, kw_only=True):
    """A file that is kept, under the hash of its bytes."""

    sha256: str
    size: int


class BookEntry(Struct, frozen=True, kw_only=True):
    """A book; one that is not kept here is official, and workers fetch it elsewhere."""

    name: str
    openings: int
    sri: str
    official: bool
    kept: bool
    size: int | UnsetType = UNSET
    sha256: str | UnsetType = UNSET
    user: str | UnsetType = UNSET
    created: datetime | UnsetType = UNSET


class BookList(Struct, frozen=True, kw_only=True):
    """All books, those that are kept here first."""

    books: tuple[BookEntry, ...]


class NetEntry(Struct, frozen=True, kw_only=True):
    """A net; `size` is that of the gzip stream that is sent."""

    name: str
    size: int
    user: str
    created: datetime
    downloads: int


class NetList(Struct, frozen=True, kw_only=True):
    """All nets, newest first."""

    nets: tuple[NetEntry, ...]


class EngineVersion(Struct, frozen=True, kw_only=True):
    """An engine's record as it was written once; `removed` where it was removed then."""

    version: int
    changed: datetime
    changed_by: str
    removed: bool
    record: EngineRecord


class EngineVersions(Struct, frozen=True, kw_only=True):
    """All that was written of an engine, the oldest first."""

    versions: tuple[EngineVersion, ...]


class RestoreBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which version an engine is to have again; 0 is what it was before any."""

    version: Count


class EngineList(Struct, frozen=True, kw_only=True):
    """All engines known here, by name."""

    engines: tuple[EngineRecord, ...]
