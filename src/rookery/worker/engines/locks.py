"""A lock by file between processes, and between machines that share a folder."""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

from rookery.boundary.offload import Threads

if sys.platform != "win32":
    import fcntl

PAUSE_SECONDS = 0.1


@contextlib.asynccontextmanager
async def lock(path: Path, threads: Threads) -> AsyncIterator[None]:
    """Held while the block lasts; the kernel lets go when the process dies."""
    file = await threads.io(_open, path)
    try:
        # Another process lets go of it, which no event of this loop could tell.
        while not await threads.io(_taken, file):  # noqa: ASYNC110
            await asyncio.sleep(PAUSE_SECONDS)
        yield
    finally:
        os.close(file)


def _open(path: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)


def _taken(file: int) -> bool:
    # On Windows nothing is locked: two workers there must not share a cache.
    if sys.platform != "win32":
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True
