"""Nets: named by their own hash, kept compressed, given to whoever asks."""

import hashlib
import re
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import PurePosixPath
from typing import Protocol

from rookery.boundary.domains import Domain, runs
from rookery.boundary.offload import Threads
from rookery.clock import Clock
from rookery.db.fence import Fence
from rookery.db.pool import Pool, Queries
from rookery.errors import Complaint
from rookery.files.programs import received
from rookery.files.quotas import QuotaExceeded, Upload
from rookery.files.store import Blobs
from rookery.model.run import Run, RunFault
from rookery.rules.lifecycle import Actor

LARGEST_NET = 200_000_000
NAME = re.compile(r"nn-([0-9a-f]{12})\.nnue", re.ASCII)
WHOLE_NAME = re.compile(r"([0-9a-f]{64})(?:\.[A-Za-z0-9]{1,10})?", re.ASCII)
"""For nets of engines that have no form of their own."""
LEVEL = 6


class NetRefused(Complaint):
    """A net can't be taken."""

    exit_code = 2


class NetExists(Complaint):
    """There is already a net of that name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"There is already a net {name}.")


class UnknownNet(RunFault):
    """there is no net {name}"""


class NetInUse(RunFault):
    """net {name} is needed by a run that is not finished"""


class NotYourNet(RunFault):
    """only who gave the net or an approver may do this"""


@dataclass(frozen=True, slots=True)
class Net:
    """A net; `size` is that of the gzip stream that is kept."""

    name: str
    blob: str
    size: int
    user: str
    created: datetime
    downloads: int = 0


class Nets(Protocol):
    """The rows. Any process may write them."""

    async def by_name(self, name: str) -> Net | None: ...

    async def add(self, net: Net, *, limit: int | None = None) -> None:
        """Raises NetExists, or QuotaExceeded where its giver has more than so many bytes then."""
        ...

    async def remove(self, name: str) -> None: ...

    async def known(self, keys: Collection[str]) -> frozenset[str]:
        """Those of the blobs that a row names."""
        ...

    async def everything(self) -> tuple[Net, ...]:
        """All nets, newest first."""
        ...

    async def note_downloads(self, counts: Mapping[str, int]) -> None:
        """Adds to the counts, in bulk."""
        ...


def is_needed(name: str, run: Run) -> bool:
    """Whether a run plays with this net: as one of its nets, or as the value of an option."""
    for side in run.plan.sides:
        values = {token.partition("=")[2] for token in side.options.split()}
        if name in side.nets or name in values or name in dict(side.uci).values():
            return True
    return False


class Downloads:
    """Counts downloads without a write for each; the event loop alone writes here."""

    def __init__(self, nets: Nets) -> None:
        self._nets = nets
        self._counts: Counter[str] = Counter()

    def note(self, name: str) -> None:
        self._counts[name] += 1

    @runs(Domain.LOOP, "awaits one write")
    async def flush(self) -> None:
        counts, self._counts = self._counts, Counter()
        if counts:
            await self._nets.note_downloads(counts)


# A net as it comes in: digested and packed at once, so that it is never held as a whole.

GZIP = 16 + zlib.MAX_WBITS


@dataclass(frozen=True, slots=True)
class NetText:
    """What a net is called, and how long the gzip stream is that is kept of it."""

    name: str
    packed: int


@dataclass(slots=True)
class NetReading:
    """Fed with pieces one after the other, in whatever threads; raises NetRefused."""

    file_name: str
    _size: int = 0
    _packed: int = 0
    _digest: "hashlib._Hash" = field(default_factory=hashlib.sha256)
    _packer: "zlib._Compress" = field(
        default_factory=lambda: zlib.compressobj(LEVEL, zlib.DEFLATED, GZIP)
    )

    def feed(self, data: bytes) -> bytes:
        self._size += len(data)
        if self._size >= LARGEST_NET:
            raise NetRefused(f"A net has less than {LARGEST_NET:,} bytes.")
        self._digest.update(data)
        return self._kept(self._packer.compress(data))

    def rest(self) -> bytes:
        return self._kept(self._packer.flush())

    def finish(self) -> NetText:
        if not self._size:
            raise NetRefused("There is nothing in this net.")
        return NetText(_name(self.file_name, self._digest.hexdigest()), self._packed)

    def _kept(self, packed: bytes) -> bytes:
        self._packed += len(packed)
        return packed


def _name(file_name: str, digits: str) -> str:
    """The file's own name where that tells its hash, else its whole hash and the same ending."""
    told = NAME.fullmatch(file_name) or WHOLE_NAME.fullmatch(file_name)
    if told is not None:
        if not digits.startswith(told[1]):
            raise NetRefused(f"These bytes would be named nn-{digits[:12]}.nnue.")
        return file_name
    named = digits + PurePosixPath(file_name).suffix
    return named if WHOLE_NAME.fullmatch(named) else digits


# Takes nets in through the API and lets them go; the same net is kept once, whoever sends it.


class NetIntake:
    """One per app."""

    def __init__(
        self,
        nets: Nets,
        blobs: Blobs,
        threads: Threads,
        clock: Clock,
        *,
        limit: int | None = None,
    ) -> None:
        """Everybody may keep `limit` bytes, unless something else is said of them."""
        self._nets = nets
        self._blobs = blobs
        self._threads = threads
        self._clock = clock
        self._limit = limit

    async def take(
        self, pieces: AsyncIterator[bytes], file_name: str, user: str
    ) -> tuple[Net, bool]:
        """The net that is kept, and whether it is new; raises NetRefused or QuotaExceeded."""
        reading = NetReading(file_name)
        found, text = await received(pieces, self._blobs, self._threads, reading, computing=True)
        new = Net(text.name, found.blob, text.packed, user, self._clock.now())
        try:
            await self._nets.add(new, limit=self._limit)
        except QuotaExceeded:
            await self._threads.io(self._blobs.remove, new.blob)
            raise
        except NetExists:
            await self._threads.io(self._blobs.remove, new.blob)
            return await self._nets.by_name(new.name) or new, False
        return new, True

    async def remove(self, name: str, actor: Actor, unfinished: Iterable[Run]) -> Net:
        """By who gave it or an approver; raises UnknownNet, NotYourNet or NetInUse."""
        net = await self._nets.by_name(name)
        if net is None:
            raise UnknownNet(name=name)
        if not (actor.approver or actor.name == net.user):
            raise NotYourNet
        if any(is_needed(name, run) for run in unfinished):
            raise NetInUse(name=name)
        await self._nets.remove(name)
        await self._threads.io(self._blobs.remove, net.blob)
        return net


# Nets in PostgreSQL, and their twin in memory. Any process may write them.


class PostgresNets:
    def __init__(self, pool: Pool, queries: Queries) -> None:
        self._pool = pool
        self._queries = queries
        self._fence = Fence(pool, queries)

    async def by_name(self, name: str) -> Net | None:
        row = await self._pool.fetchrow(self._queries["nets_by_name"], name)
        return None if row is None else Net(**row)

    async def add(self, net: Net, *, limit: int | None = None) -> None:
        columns = (net.name, net.blob, net.size, net.user, net.created, net.downloads)
        upload = Upload(net.user, net.size, limit)
        async with self._fence.write() as connection:
            await upload.begin(connection, self._queries)
            if await connection.fetchval(self._queries["nets_add"], *columns) is None:
                raise NetExists(net.name)
            await upload.check(connection, self._queries)

    async def everything(self) -> tuple[Net, ...]:
        return tuple(Net(**row) for row in await self._pool.fetch(self._queries["nets_all"]))

    async def note_downloads(self, counts: Mapping[str, int]) -> None:
        query = self._queries["nets_note_downloads"]
        async with self._fence.write() as connection:
            await connection.execute(query, list(counts), list(counts.values()))

    async def remove(self, name: str) -> None:
        async with self._fence.write() as connection:
            await connection.execute(self._queries["nets_remove"], name)

    async def known(self, keys: Collection[str]) -> frozenset[str]:
        rows = await self._pool.fetch(self._queries["nets_known"], list(keys))
        return frozenset(row["blob"] for row in rows)
