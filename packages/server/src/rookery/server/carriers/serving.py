"""The HTTP servers that can run the app (uvicorn, rookery-asgi) and the socket they listen on."""

import asyncio
import errno
import resource
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from starlette.applications import Starlette

from rookery.core.errors import Complaint

if TYPE_CHECKING:
    from rookery.server.app.site import Site

UVICORN, ROOKERY_ASGI = "uvicorn", "rookery-asgi"
BACKLOG = 2048
# Well above the idle time of clients: a client that reuses a connection while it is being closed
# gets a reset. A worker beats every 120 s.
KEEP_ALIVE_SECONDS = 150
HEAD_BYTES = 64 * 1024

NewLoop = Callable[[], asyncio.AbstractEventLoop]


class HttpServer(Protocol):
    """Serves one app in the running loop, without signals and lifespan of its own."""

    async def serve(self, listening: socket.socket, say: Callable[[], object]) -> None:
        """Serve until stopped and drained. `say` is called once connections are accepted."""

    def stop(self) -> None:
        """Stop accepting connections. Running requests may end within the time for draining."""

    def connections(self) -> int:
        """The number of open connections."""


@dataclass(frozen=True, slots=True)
class HttpBackend:
    """A kind of HTTP server. `server` makes one for an app and a drain time in seconds."""

    name: str
    server: "Callable[[Starlette, Site, int], HttpServer]"
    new_loop: NewLoop | None  # None means Python's own loop


# The socket that the server listens on, and the error messages if it can't be opened.


class CannotListen(Complaint):
    """The server can't listen where it was told to."""


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """Where to listen. Port 0 takes a free port."""

    host: str
    port: int


def bind_socket(place: ListenAddress) -> socket.socket:
    """A bound socket that does not listen yet: nobody may connect before the start is complete."""
    family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
    taken = socket.socket(family, socket.SOCK_STREAM)
    try:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind((place.host, place.port))
    except OSError as error:
        taken.close()
        raise explain_bind_error(place, error) from None
    taken.setblocking(False)
    return taken


def explain_bind_error(place: ListenAddress, error: OSError) -> CannotListen:
    where = f"{place.host}:{place.port}"
    if error.errno == errno.EADDRINUSE:
        return CannotListen(
            f"Another program already listens on {where}; stop it or choose another --port."
        )
    if error.errno == errno.EACCES:
        return CannotListen(f"Listening on {where} is not allowed; choose a --port above 1023.")
    if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
        return CannotListen(f"This machine has no address {place.host}; choose another --host.")
    return CannotListen(f"Listening on {where} failed: {error.strerror or error}.")


def address_of(bound: socket.socket) -> str:
    host, port = bound.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}"


def raise_file_limit() -> int:
    """Raise the limit of open files, since a connection is one, as far as allowed. Returns the
    limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard
