"""Secret keys that are made once and stay: in the database for all its processes, or in a file."""

import contextlib
import os
import secrets
from pathlib import Path

from rookery.db.fence import Fence
from rookery.db.pool import Pool, Queries

LENGTH = 32


async def load_secret(pool: Pool, queries: Queries, name: str) -> bytes:
    """The secret of that name; the first call, of whichever process, makes it."""
    found: bytes | None = await pool.fetchval(queries["secrets_get"], name)
    if found is not None:
        return found
    async with Fence(pool, queries).write() as connection:
        await connection.execute(queries["secrets_add"], name, secrets.token_bytes(LENGTH))
        made: bytes = await connection.fetchval(queries["secrets_get"], name)
    return made


async def load_session_secret(pool: Pool, queries: Queries) -> bytes:
    """The key that signs session cookies."""
    return await load_secret(pool, queries, "session")


# A key in the data folder is not in a backup of the database.


def load_key(path: Path) -> bytes:
    """The key in a file; the first call makes it. Blocks."""
    with contextlib.suppress(FileExistsError):
        path.parent.mkdir(parents=True, exist_ok=True)
        _make(path)
    return path.read_bytes()


def _make(path: Path) -> None:
    """Writes the file under another name first, so that it is complete also after a crash."""
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
