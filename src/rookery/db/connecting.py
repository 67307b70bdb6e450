"""Connecting to a PostgreSQL that may be any of several hosts, and to the one that accepts writes.

The driver knows lists of hosts too, but gives all of them one time limit: a host that is switched
off, and so says nothing at all, would use it up before the next one is asked.
"""

import os
from typing import Any, TypeAlias

import asyncpg

from rookery.db.target import Target

OwnConnection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
"""A connection outside of the pool."""

HOST_SECONDS = 2.0
"""How long one of several hosts may take, so that the next one is asked soon."""
FAILED = (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError)
"""How a call to a server ends that it refused, or that did not reach it."""
READ_ONLY = "it is read-only, such as a standby"


class NoWritableHost(ConnectionError):
    """None of several hosts accepts writes; the text has the reason of each."""


class Connector:
    """Connects to a target. Of several hosts the one that accepted writes last is asked first, so
    that one which is gone costs its time once and not at every connection."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._hosts = list(target.hosts)

    async def __call__(self, *_: Any, timeout: float, **options: Any) -> OwnConnection:
        """A connection; the options are those of asyncpg.connect, whose pool calls this too."""
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
            except asyncpg.InternalClientError:  # how the driver says that it wanted another kind
                reasons.append(f"{host}:{port}: {READ_ONLY}")
            else:
                self._hosts.sort(key=lambda each: each != place)
                return found
        raise NoWritableHost("; ".join(reasons))


async def connect(target: Target, *, seconds: float, **options: Any) -> OwnConnection:
    """One connection outside of the pool."""
    return await Connector(target)(timeout=seconds, **options)


def describe_failure(error: Exception, seconds: float) -> str:
    """The system's message without that of asyncio; name lookups have error numbers of their
    own."""
    if isinstance(error, TimeoutError):
        return f"no answer within {seconds:g} s"
    if not isinstance(error, OSError):
        return str(error)
    if error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)
    return error.strerror or "connection failed"
