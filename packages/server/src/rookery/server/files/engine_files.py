"""Stores nets and programs that people upload for their engines: rows, stores and checks. A net is
named after its hash and stored compressed; a program is identified by its SHA-256.
"""

import hashlib
import re
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath

from rookery.core.boundary.offload import Threads
from rookery.core.clock import Clock
from rookery.core.model.actor import Actor
from rookery.core.model.engine import is_program
from rookery.core.model.run import NotYours, Run, RunFault
from rookery.server.boundary.domains import Domain, runs
from rookery.server.db.pool import clean, escape_pattern
from rookery.server.files.blobs import Blobs
from rookery.server.files.store import (
    FILE_IN_USE,
    NOT_YOUR_FILE,
    FileRefused,
    UnknownFile,
    UserFileRows,
    UserFileStore,
    receive,
)

LARGEST_NET = 200_000_000
NAME = re.compile(r"nn-([0-9a-f]{12})\.nnue", re.ASCII)
WHOLE_NAME = re.compile(r"([0-9a-f]{64})(?:\.[A-Za-z0-9]{1,10})?", re.ASCII)
"""The pattern of a net's name for engines other than Stockfish: its whole hash, with any
extension."""
LEVEL = 6
GZIP = 16 + zlib.MAX_WBITS


@dataclass(frozen=True, slots=True)
class StoredNet:
    """The row of a net; `size` is that of the stored gzip stream."""

    name: str
    blob: str
    size: int
    user: str
    created: datetime
    downloads: int = 0


@dataclass(frozen=True, slots=True)
class NetSearch:
    """Selects nets for a list, newest first."""

    text: str = ""
    """Searched in the names of nets and of their uploaders."""
    user: str = ""
    """Searched in the names of uploaders."""
    hidden: tuple[str, ...] = ()
    """Nets that the reader may not know of."""
    repeated: tuple[str, ...] = ()
    """Nets whose first uploader the reader may not know."""
    first: int = 0
    limit: int = 50


class NetRows(UserFileRows[StoredNet]):
    """The rows of nets, newest first."""

    name = "nets"
    kind = StoredNet

    async def find_page(self, search: NetSearch) -> tuple[StoredNet, ...]:
        text, user = (
            f"%{escape_pattern(clean(each))}%" if each else ""
            for each in (search.text, search.user)
        )
        hidden, repeated = list(search.hidden), list(search.repeated)
        given = (text, user, hidden, repeated, search.limit, search.first)
        return await self._many(StoredNet, "nets_page", *given)

    async def note_downloads(self, counts: Mapping[str, int]) -> None:
        """Add to the download counts, by name."""
        await self._write("nets_note_downloads", list(counts), list(counts.values()))


class NetStore(UserFileStore[NetRows]):
    """Stores each net once, however often it is uploaded. Downloads are counted in memory and
    written in batches."""

    def __init__(
        self,
        rows: NetRows,
        blobs: Blobs,
        threads: Threads,
        clock: Clock,
        *,
        limit: int | None = None,
    ) -> None:
        super().__init__(rows, blobs, threads, clock, limit=limit)
        self._downloads: Counter[str] = Counter()

    async def upload(
        self, pieces: AsyncIterator[bytes], file_name: str, user: str, engine: str = ""
    ) -> tuple[StoredNet, bool]:
        """Store a net; return the stored one and whether it is new. Raise FileRefused or
        QuotaExceeded."""
        reader = NetReader(file_name)
        found = await receive(pieces, self.blobs, self._threads, reader, computing=True)
        new = StoredNet(reader.name, found.blob, reader.packed, user, self._clock.now())
        kept = await self._add(new, engine)
        return kept, kept.blob == new.blob

    async def remove(self, name: str, actor: Actor, unfinished: Iterable[Run]) -> StoredNet:
        """Remove a net; only its uploader or an approver may. Raise UnknownFile, NotYours, or
        RunFault for one in use."""
        net = await self.rows.get(name)
        if net is None:
            raise UnknownFile(kind="net", name=name)
        if not (actor.approver or actor.name == net.user):
            raise NotYours(NOT_YOUR_FILE, kind="net")
        if any(is_net_used(name, run) for run in unfinished):
            raise RunFault(FILE_IN_USE, kind="net", name=name)
        await self._remove(net)
        return net

    def note_download(self, name: str) -> None:
        self._downloads[name] += 1

    @runs(Domain.LOOP, "awaits one write")
    async def write_downloads(self) -> None:
        counts, self._downloads = self._downloads, Counter()
        if counts:
            await self.rows.note_downloads(counts)


def is_net_used(name: str, run: Run) -> bool:
    """Whether a run plays with this net."""
    return name in list_used_nets(run)


def list_used_nets(run: Run) -> frozenset[str]:
    """All possible nets of a run: those that it names, and the values of its options."""
    found: set[str] = set()
    for side in run.plan.sides:
        found.update(side.nets, dict(side.uci).values())
        found.update(token.partition("=")[2] for token in side.options.split())
    return frozenset(found)


class NetReader:
    """Hashes and compresses an upload piece by piece, so that no net is in memory as a whole."""

    def __init__(self, file_name: str) -> None:
        self.name = file_name
        """The uploaded file's name, and after `finish` the name under which the net is stored."""
        self.packed = 0
        """The length of the gzip stream that is stored."""
        self._size = 0
        self._digest = hashlib.sha256()
        self._packer = zlib.compressobj(LEVEL, zlib.DEFLATED, GZIP)

    def feed(self, data: bytes) -> bytes:
        self._size += len(data)
        if self._size >= LARGEST_NET:
            raise FileRefused(f"A net has less than {LARGEST_NET:,} bytes.")
        self._digest.update(data)
        return self._count(self._packer.compress(data))

    def finish(self) -> bytes:
        if not self._size:
            raise FileRefused("This net is empty.")
        self.name = net_name(self.name, self._digest.hexdigest())
        return self._count(self._packer.flush())

    def _count(self, packed: bytes) -> bytes:
        self.packed += len(packed)
        return packed


def net_name(file_name: str, digits: str) -> str:
    """Return the name to store a net under: that of its file where it contains the hash, else the
    whole hash with the file's ending. Raise FileRefused where the name contains another hash."""
    match = NAME.fullmatch(file_name) or WHOLE_NAME.fullmatch(file_name)
    if match is not None:
        if not digits.startswith(match[1]):
            raise FileRefused(f"The hash of this net makes its name nn-{digits[:12]}.nnue.")
        return file_name
    named = digits + PurePosixPath(file_name).suffix
    return named if WHOLE_NAME.fullmatch(named) else digits


@dataclass(frozen=True, slots=True)
class StoredProgram:
    """The row of a program; `name` is its file name, shown to people."""

    sha256: str
    blob: str
    size: int
    name: str
    user: str
    created: datetime


class ProgramRows(UserFileRows[StoredProgram]):
    """The rows of programs, by the SHA-256 of their bytes."""

    name = "binaries"
    kind = StoredProgram

    async def list_of_user(self, user: str, limit: int) -> tuple[StoredProgram, ...]:
        """Return the programs that a user uploaded, latest first."""
        return await self._many(StoredProgram, "binaries_of_user", user, limit)


class ProgramStore(UserFileStore[ProgramRows]):
    """Stores each program once, however often it is uploaded."""

    async def upload(
        self, pieces: AsyncIterator[bytes], name: str, user: str, engine: str = ""
    ) -> StoredProgram:
        """Store a program; raise FileRefused or QuotaExceeded."""
        found = await receive(pieces, self.blobs, self._threads, ProgramReader())
        now = self._clock.now()
        new = StoredProgram(found.sha256, found.blob, found.size, name, user, now)
        return await self._add(new, engine)


class ProgramReader:
    """Refuses an upload that does not begin like an executable file."""

    def __init__(self) -> None:
        self._has_begun = False

    def feed(self, data: bytes) -> bytes:
        if not self._has_begun and not is_program(data):
            raise FileRefused("This file is not a program for Linux or macOS.")
        self._has_begun = True
        return data

    def finish(self) -> bytes:
        if not self._has_begun:
            raise FileRefused("This upload is empty.")
        return b""
