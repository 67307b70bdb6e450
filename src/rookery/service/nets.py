"""Nets: named by their own hash, kept compressed, given to whoever asks."""

import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from rookery.core.complaint import Complaint
from rookery.core.faults import RunFault
from rookery.core.run import Run

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

    async def flush(self) -> None:
        counts, self._counts = self._counts, Counter()
        if counts:
            await self._nets.note_downloads(counts)
