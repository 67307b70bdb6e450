"""Nets: named by their own hash, kept compressed, given to whoever asks."""

import gzip
import hashlib
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath
from typing import Protocol

from rookery.boundary.offload import Threads
from rookery.clock import Clock
from rookery.core.complaint import Complaint
from rookery.service.blobs import Blobs

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

    async def add(self, net: Net) -> None:
        """Raises NetExists."""
        ...

    async def everything(self) -> tuple[Net, ...]:
        """All nets, newest first."""
        ...

    async def note_downloads(self, counts: Mapping[str, int]) -> None:
        """Adds to the counts, in bulk."""
        ...


class Downloads:
    """Counts downloads without a write for each; the event loop alone writes here."""

    def __init__(self, nets: Nets) -> None:
        self._nets = nets
        self._counts: Counter[str] = Counter()

    def note(self, name: str) -> None:
        self._counts[name] += 1

    async def flush(self) -> None:
        counts, self._counts = self._counts, Counter()
        if counts:
            await self._nets.note_downloads(counts)


class NetStore:
    """Takes nets in: only what is named by its own hash, and is whole once it is kept."""

    def __init__(self, nets: Nets, blobs: Blobs, threads: Threads, clock: Clock) -> None:
        self._nets = nets
        self._blobs = blobs
        self._threads = threads
        self._clock = clock

    async def take(self, name: str, data: bytes, user: str) -> Net:
        """Raises NetRefused or NetExists."""
        if await self._nets.by_name(name) is not None:
            raise NetExists(name)
        await self._threads.cpu(check_net, name, data)
        packed = await self._threads.cpu(_packed, data)
        key = await self._threads.io(self._blobs.write, packed)
        await self._threads.cpu(self._check_kept, name, key)
        net = Net(name, key, len(packed), user, self._clock.now())
        await self._nets.add(net)
        return net

    def _check_kept(self, name: str, key: str) -> None:
        check_net(name, gzip.decompress(self._blobs.read(key)))


def name_of(file_name: str, data: bytes) -> str:
    """A file's own name where that tells its hash, else its whole hash and the same ending."""
    if NAME.fullmatch(file_name) or WHOLE_NAME.fullmatch(file_name):
        return file_name
    ending = PurePosixPath(file_name).suffix
    named = hashlib.sha256(data).hexdigest() + ending
    return named if WHOLE_NAME.fullmatch(named) else named.removesuffix(ending)


def check_net(name: str, data: bytes) -> None:
    """Raises NetRefused unless the name tells the hash of the bytes."""
    found = NAME.fullmatch(name) or WHOLE_NAME.fullmatch(name)
    if found is None:
        raise NetRefused(
            "A net is named by its SHA-256: nn-, twelve hex digits of it and .nnue, or all 64."
        )
    if not 0 < len(data) < LARGEST_NET:
        raise NetRefused(f"A net has less than {LARGEST_NET:,} bytes, and at least one.")
    digits = hashlib.sha256(data).hexdigest()
    if not digits.startswith(found[1]):
        raise NetRefused(f"These bytes would be named nn-{digits[:12]}.nnue.")


def _packed(data: bytes) -> bytes:
    # Without a time in its header the same net always gives the same bytes.
    return gzip.compress(data, LEVEL, mtime=0)
