"""Secret keys, created once and kept in the database, where all its processes find them."""

import secrets
from pathlib import Path

from rookery.server.db.fence import Fence
from rookery.server.db.pool import Pool, Queries

LENGTH = 32
SEAL_FILE, WHEEL_FILE = "seal.key", "wheel.key"


async def load_secret(
    pool: Pool, queries: Queries, name: str, before: bytes | None = None
) -> bytes:
    """Return the secret of that name. The first call, in any process, stores `before` or creates a
    new secret; simultaneous callers get the same one."""
    found: bytes | None = await pool.fetchval(queries["secrets_get"], name)
    if found is not None:
        return found
    async with Fence(pool, queries).write() as connection:
        new = before or secrets.token_bytes(LENGTH)
        await connection.execute(queries["secrets_add"], name, new)
        made: bytes = await connection.fetchval(queries["secrets_get"], name)
    return made


async def load_session_secret(pool: Pool, queries: Queries) -> bytes:
    """Return the key that signs session cookies."""
    return await load_secret(pool, queries, "session")


async def load_seal_secret(pool: Pool, queries: Queries, before: bytes | None) -> bytes:
    """Return the key of the digests that identify returning workers."""
    return await load_secret(pool, queries, "seal", before)


async def load_wheel_secret(pool: Pool, queries: Queries, before: bytes | None) -> bytes:
    """Return the key that signs the software workers install: they trust every server that has
    it."""
    return await load_secret(pool, queries, "wheel", before)


def read_key_file(path: Path) -> bytes | None:
    """Return the key that an earlier version kept in a file of the data folder; None if there is
    none. Blocks."""
    try:
        return path.read_bytes() or None
    except FileNotFoundError:
        return None
