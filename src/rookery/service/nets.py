"""Nets: named by their own hash, kept compressed, given to whoever asks."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from rookery.core.complaint import Complaint

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

    async def add(self, net: Net, *, limit: int | None = None) -> None:
        """Raises NetExists, or QuotaExceeded where its giver has more than so many bytes then."""
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
