"""Connects to a PostgreSQL on one of several hosts: the one that accepts writes.

The driver also takes lists of hosts, but with one time limit for all: a host that is switched off
never answers, and would use it up before the next one is tried.
"""

import os
from typing import Any, TypeAlias

import asyncpg

from rookery.server.db.target import Problem, Target

OwnConnection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
"""A connection outside of the pool."""

HOST_SECONDS = 2.0
"""The time limit for one of several hosts, so that the next one is tried soon."""
FAILED = (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError)
"""The errors of a call that the server refused or that did not reach it."""
READ_ONLY = "it is read-only, such as a standby"


class NoWritableHost(ConnectionError):
    """None of several hosts accepts writes; the text has the reason of each."""


class Connector:
    """Connects to a target. With several hosts it first tries the one that accepted writes last, so
    that a missing host costs its time limit only once."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._hosts = list(target.hosts)

    async def __call__(self, *_: Any, timeout: float, **options: Any) -> OwnConnection:
        """Open a connection. The options are those of asyncpg.connect; asyncpg's pool calls this,
        too."""
        options["server_settings"] = {
            **self._target.session,
            **options.get("server_settings", {}),
        }
        options = {**self._target.connect_args, **options}
        if not self._hosts:
            return await asyncpg.connect(**options, timeout=timeout)
        return await self._connect_to_one(min(timeout, HOST_SECONDS), options)

    async def _connect_to_one(self, seconds: float, options: dict[str, Any]) -> OwnConnection:
        reasons = []
        for place in tuple(self._hosts):
            host, port = place
            try:
                found: OwnConnection = await asyncpg.connect(
                    **options, host=host, port=port, timeout=seconds
                )
            except FAILED as error:
                reasons.append(f"{host}:{port}: {describe_failure(error, seconds)}")
            except asyncpg.InternalClientError:  # raised for a host of the wrong kind
                reasons.append(f"{host}:{port}: {READ_ONLY}")
            else:
                self._hosts.sort(key=lambda each: each != place)
                return found
        raise NoWritableHost("; ".join(reasons))


async def connect(target: Target, *, seconds: float, **options: Any) -> OwnConnection:
    """Open one connection outside of the pool."""
    return await Connector(target)(timeout=seconds, **options)


def describe_failure(error: Exception, seconds: float) -> str:
    """Return the operating system's message for an error, without asyncio's addition; errors of
    name lookups have other numbers."""
    if isinstance(error, TimeoutError):
        return f"no answer within {seconds:g} s"
    if not isinstance(error, OSError):
        return str(error)
    if error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)
    return error.strerror or "connection failed"


def explain_storage(error: Exception) -> Problem | None:
    """Return what is to be done about an error that comes from the database's disk; None for
    others."""
    reason = str(error).partition("\n")[0]
    if isinstance(error, asyncpg.DataCorruptedError | asyncpg.IndexCorruptedError):
        return Problem(
            "The database's files are damaged ({reason}): restore a backup into an empty "
            "folder or database (`rookery db restore`).",
            reason=reason,
        )
    if isinstance(error, asyncpg.DiskFullError):
        return Problem(
            "No space is left on the disk of the database ({reason}): free some and start again.",
            reason=reason,
        )
    return None
