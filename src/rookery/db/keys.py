"""Secrets that outlive a restart and that all processes of one database share."""

import contextlib
import os
import secrets
from pathlib import Path

from rookery.db.fence import Fence
from rookery.db.pool import Pool, Queries

LENGTH = 32


async def secret(pool: Pool, queries: Queries, name: str) -> bytes:
    """The secret of that name, made at the first call; whoever makes it first wins."""
    found: bytes | None = await pool.fetchval(queries["secrets_get"], name)
    if found is not None:
        return found
    async with Fence(pool, queries).write() as connection:
        await connection.execute(queries["secrets_add"], name, secrets.token_bytes(LENGTH))
        made: bytes = await connection.fetchval(queries["secrets_get"], name)
    return made


async def session_secret(pool: Pool, queries: Queries) -> bytes:
    """The key that signs session cookies."""
    return await secret(pool, queries, "session")


# A key that stays in the data folder: a copy of the database alone is of no use with it.


def key_in(path: Path) -> bytes:
    """The key of that file, made at the first call; it blocks."""
    with contextlib.suppress(FileExistsError):
        path.parent.mkdir(parents=True, exist_ok=True)
        _make(path)
    return path.read_bytes()


def _make(path: Path) -> None:
    """Whole or not there at all, also after a crash."""
    if path.exists():
        raise FileExistsError
    unfinished = path.with_suffix(f".{os.getpid()}")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.write(descriptor, secrets.token_bytes(LENGTH))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    unfinished.rename(path)
