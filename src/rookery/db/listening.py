"""Listens to what other processes tell through the database, on a connection of its own.

    connecting --LISTEN--> listening --the connection breaks--> connecting, after a pause

Each time it begins to listen, all who keep something are told that they may have missed changes.
"""

import asyncio
import contextlib
import enum
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import asyncpg

from rookery.db.pool import AWAY, COMMAND_SECONDS, CONNECT_SECONDS, EventLog, OwnConnection, quiet
from rookery.db.target import Target

# What processes tell one another through the database, by channel.
#
# Whoever keeps something in memory that another process may change says what to do when it is told
# so, and what to do when changes may have been missed: then everything kept may be out of date.

Told = Callable[[str], object]
Missed = Callable[[], object]


class Channel(enum.StrEnum):
    """What is told of; the text that comes along says which one it was."""

    FLEET = "fleet"
    USERS = "users"
    TOKENS = "tokens"
    SESSIONS = "sessions"
    ENGINES = "engines"


@dataclass(frozen=True, slots=True)
class _Listener:
    channel: Channel
    told: Told
    missed: Missed


@dataclass(frozen=True, slots=True)
class ListeningStats:
    """Whether anybody listens, how often the connection was made, and what came through it."""

    connected: bool = False
    connections: int = 0
    heard: int = 0


class ChangeNotices:
    """One per process; the event loop alone uses it. Nobody here may take long or fail."""

    def __init__(self) -> None:
        self._listeners: list[_Listener] = []

    def on(self, channel: Channel, told: Told, missed: Missed) -> None:
        """Have these called from now on."""
        self._listeners.append(_Listener(channel, told, missed))

    def tell(self, channel: Channel, text: str) -> None:
        for listener in self._listeners:
            if listener.channel is channel:
                listener.told(text)

    def miss(self) -> None:
        """There was a time in which nobody listened."""
        for listener in self._listeners:
            listener.missed()


PAUSE_SECONDS = 0.5
LOOK_SECONDS = 15.0
"""How often a silent connection is asked whether it is still one."""


class Listening:
    """One per process. Used on the loop alone."""

    def __init__(
        self, target: Target, changes: ChangeNotices, *, instance: str, log: EventLog = quiet
    ) -> None:
        self._target = target
        self._changes = changes
        self._instance = instance
        self._log = log
        self._connected = False
        self._connections = 0
        self._heard = 0

    @asynccontextmanager
    async def opened(self) -> AsyncIterator["Listening"]:
        """Listens until the end of the block, whatever becomes of the database in between."""
        task = asyncio.create_task(self._go_on(), name="listening")
        try:
            yield self
        finally:
            task.cancel()
            await asyncio.wait([task])

    def stats(self) -> ListeningStats:
        return ListeningStats(self._connected, self._connections, self._heard)

    async def _go_on(self) -> None:
        while True:
            reason = "the connection ended"
            try:
                await self._listen()
            except (*AWAY, asyncpg.PostgresError) as error:
                reason = repr(error)
            self._log("listening_interrupted", reason=reason)
            await asyncio.sleep(PAUSE_SECONDS)

    async def _listen(self) -> None:
        connection: OwnConnection = await asyncpg.connect(
            **self._target.connect_args,
            timeout=CONNECT_SECONDS,
            command_timeout=COMMAND_SECONDS,
            # Not the name of those who write: a takeover ends their sessions, and not this one.
            server_settings={"application_name": f"rookery listening {self._instance}"},
        )
        try:
            for channel in Channel:
                await connection.add_listener(channel, self._hear)
            self._connected = True
            self._connections += 1
            self._changes.miss()
            await self._stay(connection)
        finally:
            self._connected = False
            with contextlib.suppress(*AWAY):
                await connection.close(timeout=1)

    async def _stay(self, connection: OwnConnection) -> None:
        """Returns when the connection has ended; one that broke silently is found by asking."""
        gone = asyncio.Event()
        connection.add_termination_listener(lambda _connection: gone.set())
        while not connection.is_closed():
            try:
                await asyncio.wait_for(gone.wait(), LOOK_SECONDS)
            except TimeoutError:
                await connection.fetchval("SELECT 1")

    def _hear(self, _connection: object, _process: int, channel: str, payload: object) -> None:
        self._heard += 1
        self._changes.tell(Channel(channel), str(payload))
