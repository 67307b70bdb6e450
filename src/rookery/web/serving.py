"""What carries HTTP to the app: the port that uvicorn and rookery-asgi fill, and its limits."""

import asyncio
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from starlette.applications import Starlette

from rookery.web.house import House

UVICORN, MONGOOSE = "uvicorn", "mongoose"
BACKLOG = 2048
# Well above the idle time of clients: one that reuses a connection as it closes sees a reset.
KEEP_ALIVE_SECONDS = 120
HEAD_BYTES = 64 * 1024

NewLoop = Callable[[], asyncio.AbstractEventLoop]


class HttpServer(Protocol):
    """Serves one app in the running loop, without signals and lifespan of its own."""

    async def serve(self, listening: socket.socket, say: Callable[[], object]) -> None:
        """Until stopped and drained; `say` is called as soon as connections are accepted."""

    def stop(self) -> None:
        """No new connections; running requests have the drain's time to end."""

    def connections(self) -> int:
        """How many are open."""


@dataclass(frozen=True, slots=True)
class Carrier:
    """A way to carry HTTP: its server for an app and a drain in seconds, and its event loop."""

    name: str
    server: Callable[[Starlette, House, int], HttpServer]
    new_loop: NewLoop | None  # None means Python's own
