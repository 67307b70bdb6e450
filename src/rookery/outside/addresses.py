"""Which addresses may be asked: by scheme, and never by accident inside this network.

A submitter chooses the address. Without a look at it, anybody with an account could make the
server talk to what only the server can reach. A name is looked up once: what was found is looked at
and is then what git connects to, so that a name which leads elsewhere a moment later leads nowhere.
"""

import re
import socket
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from rookery.over_http import is_public
from rookery.service.sources.commits import CannotAsk

Resolve = Callable[[str], tuple[str, ...]]
PORTS = {"http": 80, "https": 443, "ssh": 22, "git": 9418}
# Nothing that two readers of addresses might take for two different hosts.
_HOST = re.compile(
    r"(?:[^@/\\\s]*@)?(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?",
    re.ASCII,
)


def resolved(host: str) -> tuple[str, ...]:
    """All addresses of a host. Asks the name service, and so blocks; raises OSError."""
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(entry[4][0]) for entry in found))


@dataclass(frozen=True, slots=True)
class Place:
    """Where a repository lies; without addresses whoever connects looks them up."""

    scheme: str
    host: str = ""
    port: int = 0
    addresses: tuple[str, ...] = ()


NOWHERE = Place("none")


@dataclass(frozen=True, slots=True)
class Reach:
    """What the operator allows; `inside` are hosts of the own network that may be asked."""

    schemes: frozenset[str] = frozenset({"https"})
    inside: frozenset[str] = frozenset()
    resolve: Resolve = resolved

    def check(self, repository: str) -> Place:
        """Where to connect to; raises CannotAsk. Asks the name service, and so blocks."""
        parts = urlsplit(repository)
        if parts.scheme not in self.schemes:
            allowed = ", ".join(sorted(self.schemes)) or "none"
            raise CannotAsk(f"this server fetches by {allowed}, not by {parts.scheme}")
        if parts.scheme == "file":
            return Place(parts.scheme)
        if _HOST.fullmatch(parts.netloc) is None:
            raise CannotAsk(f"{parts.netloc[:100]!r} can't be the name of a host")
        return self._place(parts)

    def _place(self, parts: SplitResult) -> Place:
        host, trusted = parts.hostname or "", parts.hostname in self.inside
        try:
            port = parts.port or PORTS[parts.scheme]
            addresses = self.resolve(host)
        except (OSError, ValueError):
            # An operator's own ssh settings may know hosts that no name service does.
            if trusted:
                return Place(parts.scheme)
            raise CannotAsk(f"there is no host {host}") from None
        if not trusted and not all(map(is_public, addresses)):
            raise CannotAsk(f"{host} lies inside this server's network; its operator can allow it")
        if trusted and parts.scheme == "ssh":
            return Place(parts.scheme)
        return Place(parts.scheme, host, port, tuple(_plain(each) for each in addresses))


def _plain(address: str) -> str:
    """Without the interface that IPv6 may name."""
    return address.partition("%")[0]
