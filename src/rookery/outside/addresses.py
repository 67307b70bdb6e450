"""Which addresses may be asked: by scheme, and never by accident inside this network.

A submitter chooses the address. Without a look at it, anybody with an account could make the
server talk to what only the server can reach.
"""

import ipaddress
import socket
from dataclasses import dataclass
from urllib.parse import urlsplit

from rookery.service.sources.commits import CannotAsk


@dataclass(frozen=True, slots=True)
class Reach:
    """What the operator allows; `inside` are hosts of the own network that may be asked."""

    schemes: frozenset[str] = frozenset({"https"})
    inside: frozenset[str] = frozenset()

    def check(self, repository: str) -> None:
        """Raises CannotAsk. Asks the name service, and so blocks."""
        parts = urlsplit(repository)
        if parts.scheme not in self.schemes:
            allowed = ", ".join(sorted(self.schemes)) or "none"
            raise CannotAsk(f"this server fetches by {allowed}, not by {parts.scheme}")
        if parts.scheme != "file":
            self._check_host(parts.hostname or "")

    def _check_host(self, host: str) -> None:
        if host in self.inside:
            return
        try:
            found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            raise CannotAsk(f"there is no host {host}") from None
        if not all(_is_outside(str(entry[4][0])) for entry in found):
            raise CannotAsk(f"{host} lies inside this server's network; its operator can allow it")


def _is_outside(address: str) -> bool:
    return ipaddress.ip_address(address.partition("%")[0]).is_global
