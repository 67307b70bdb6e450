"""Orphans: blobs that no row names, because whoever wrote them died before the row."""

from collections.abc import Collection, Iterable
from typing import Protocol

from rookery.boundary.offload import Threads
from rookery.service.blobs import Blobs

AT_A_TIME = 200
ORPHAN_SECONDS = 86_400.0
"""A blob this old without a row will not get one any more."""


class Names(Protocol):
    """Rows that name blobs."""

    async def known(self, keys: Collection[str]) -> frozenset[str]:
        """Those of the keys that a row names."""
        ...


async def swept(blobs: Blobs, rows: Names, threads: Threads) -> None:
    """Removes blobs that no row ever came to name."""
    old = await threads.io(lambda: list(blobs.older_than(ORPHAN_SECONDS)))
    for start in range(0, len(old), AT_A_TIME):
        part = old[start : start + AT_A_TIME]
        named = await rows.known(part)
        await threads.io(remove, blobs, [key for key in part if key not in named])


def remove(blobs: Blobs, keys: Iterable[str]) -> None:
    """Blocks, as all that touches files does."""
    for key in keys:
        blobs.remove(key)
