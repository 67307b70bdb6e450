"""Receives notices of changes by other processes (LISTEN/NOTIFY) on a separate connection."""

import asyncio
import contextlib
import enum
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import asyncpg

from rookery.server.db.connecting import Connector, OwnConnection
from rookery.server.db.pool import AWAY, COMMAND_SECONDS, CONNECT_SECONDS, EventLog, quiet
from rookery.server.db.target import Target

# Subscriptions by channel. A part that caches something which another process may change subscribes
# with two callbacks: one for a change, and one for when changes may have been missed, after which
# everything cached may be out of date.

OnChange = Callable[[str], object]
OnMissed = Callable[[], object]


class Channel(enum.StrEnum):
    """The kinds of things that change; a notice's text names the changed one."""

    FLEET = "fleet"
    USERS = "users"
    TOKENS = "tokens"
    SESSIONS = "sessions"
    ENGINES = "engines"
    LEASE = "lease"


@dataclass(frozen=True, slots=True)
class _Listener:
    channel: Channel
    told: OnChange
    missed: OnMissed


@dataclass(frozen=True, slots=True)
class ListeningStats:
    """Whether the connection is up, and the number of connections and notices so far."""

    connected: bool = False
    connections: int = 0
    heard: int = 0


class ChangeNotices:
    """The subscriptions of a process, used on the event loop; callbacks must be quick and not
    fail."""

    def __init__(self) -> None:
        self._listeners: list[_Listener] = []

    def subscribe(self, channel: Channel, told: OnChange, missed: OnMissed) -> None:
        """Register callbacks for a channel."""
        self._listeners.append(_Listener(channel, told, missed))

    def publish(self, channel: Channel, text: str) -> None:
        for listener in self._listeners:
            if listener.channel is channel:
                listener.told(text)

    def notify_missed(self) -> None:
        """Tell all subscribers that changes may have been missed."""
        for listener in self._listeners:
            listener.missed()


PAUSE_SECONDS = 0.5
LOOK_SECONDS = 15.0
"""How often a silent connection is tested."""


class Listening:
    """The connection that listens. One per process, used only on the event loop."""

    def __init__(
        self, target: Target, changes: ChangeNotices, *, instance: str, log: EventLog = quiet
    ) -> None:
        self._connect = Connector(target)
        self._changes = changes
        self._instance = instance
        self._log = log
        self._connected = False
        self._connections = 0
        self._heard = 0

    @asynccontextmanager
    async def opened(self) -> AsyncIterator["Listening"]:
        """Listen for the length of the block, and reconnects after each failure."""
        task = asyncio.create_task(self._keep_listening(), name="listening")
        try:
            yield self
        finally:
            task.cancel()
            await asyncio.wait([task])

    def stats(self) -> ListeningStats:
        return ListeningStats(self._connected, self._connections, self._heard)

    async def _keep_listening(self) -> None:
        while True:
            reason = "the connection ended"
            try:
                await self._listen()
            except (*AWAY, asyncpg.PostgresError) as error:
                reason = repr(error)
            self._log("listening_interrupted", reason=reason)
            await asyncio.sleep(PAUSE_SECONDS)

    async def _listen(self) -> None:
        connection: OwnConnection = await self._connect(
            timeout=CONNECT_SECONDS,
            command_timeout=COMMAND_SECONDS,
            # Not the name of the writing sessions, which a takeover ends; this one must survive it.
            server_settings={"application_name": f"rookery listening {self._instance}"},
        )
        try:
            for channel in Channel:
                await connection.add_listener(channel, self._receive)
            self._connected = True
            self._connections += 1
            self._changes.notify_missed()
            await self._wait_until_closed(connection)
        finally:
            self._connected = False
            with contextlib.suppress(*AWAY):
                await connection.close(timeout=1)

    async def _wait_until_closed(self, connection: OwnConnection) -> None:
        """Wait until the connection has ended; a test query finds one that broke silently."""
        gone = asyncio.Event()
        connection.add_termination_listener(lambda _connection: gone.set())
        while not connection.is_closed():
            try:
                await asyncio.wait_for(gone.wait(), LOOK_SECONDS)
            except TimeoutError:
                await connection.fetchval("SELECT 1")

    def _receive(self, _connection: object, _process: int, channel: str, payload: object) -> None:
        self._heard += 1
        self._changes.publish(Channel(channel), str(payload))
