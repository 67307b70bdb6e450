"""What the adapter knows of a connection: `_ConnState` for both threads, `Peer` for one of them."""

import asyncio
import concurrent.futures
import enum
from collections.abc import Callable
from dataclasses import dataclass, field

from cymongoose import Connection

from rookery_asgi.mongoose.head import Head
from rookery_asgi.types import Message, Scope


class ClientDisconnected(OSError):
    """What `send()` raises when nobody is there any more."""


@dataclass(slots=True, eq=False)
class _ConnState:
    """A request, or a WebSocket, from its first byte to its last.

    Both threads read it. A field is written by one of them only, and none needs a lock: a plain
    assignment is atomic under the GIL.
    """

    scope: Scope
    receive_queue: asyncio.Queue[Message] = field(default_factory=asyncio.Queue)
    task: "concurrent.futures.Future[None] | None" = None
    # written by the asyncio thread
    ws_accepted: bool = False
    response_started: bool = False
    streaming: bool = False
    stream_sem: asyncio.Semaphore | None = None
    chunked: bool = False
    cut: bool = False
    keep_alive: bool = False
    close_with: tuple[int, str] = (1000, "")
    taken_bytes: int = 0
    # written by the poll thread
    gone: bool = False
    owed: int = 0
    given_bytes: int = 0
    left_with: tuple[int, str] = (1006, "")

    @property
    def is_websocket(self) -> bool:
        """Whether the connection was upgraded."""
        return bool(self.scope["type"] == "websocket")


class Phase(enum.Enum):
    """What a connection is waiting for."""

    IDLE = "a request"
    HEAD = "the rest of a head"
    BODY = "the rest of a body"
    BUSY = "the application"
    OPEN = "WebSocket messages"
    DOOMED = "its end"


@dataclass(slots=True, eq=False)
class Peer:
    """The poll thread's view of a connection, with what its time limits need."""

    conn: Connection
    since: float
    phase: Phase = Phase.IDLE
    fresh: bool = True
    head: Head | None = None
    received: int = 0
    wrote: float = 0.0
    pinged: float | None = None
    held: Callable[[], None] | None = None

    def enter(self, phase: Phase, now: float) -> None:
        """Begin to wait for something else."""
        self.phase, self.since = phase, now
