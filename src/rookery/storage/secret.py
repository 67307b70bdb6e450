"""Secrets that outlive a restart and that all processes of one database share."""

import secrets

from rookery.storage.fence import Fence
from rookery.storage.pool import Pool
from rookery.storage.queries import Queries

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
