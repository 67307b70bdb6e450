"""The socket that the server listens on, and the sentences for when it can't have it."""

import errno
import resource
import socket
from dataclasses import dataclass

from rookery.core.complaint import Complaint


class CannotListen(Complaint):
    """The server can't listen where it was told to."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where to listen; port 0 takes a free one."""

    host: str
    port: int


def bind(place: Place) -> socket.socket:
    """A bound socket that does not listen yet: nobody may connect before the start is over."""
    family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
    taken = socket.socket(family, socket.SOCK_STREAM)
    try:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind((place.host, place.port))
    except OSError as error:
        taken.close()
        raise complaint_for(place, error) from None
    taken.setblocking(False)
    return taken


def complaint_for(place: Place, error: OSError) -> CannotListen:
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
    """A connection is an open file: takes as many as this process is allowed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard
