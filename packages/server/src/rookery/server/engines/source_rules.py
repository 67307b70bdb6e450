"""Decides by its text alone which address an engine's record may name as its source.

Whoever fetches a source checks the host again when it has looked up its name
(`sources.git.FetchPolicy` here, the worker's gateway there). This check tells a person beside the
field what could never be fetched, or should not be shown as a link or handed to git.
"""

import ipaddress
import re
import socket
from dataclasses import dataclass
from urllib.parse import urlsplit

from rookery.core.http_places import is_public
from rookery.core.model.engine import source_address

WEB = frozenset({"https", "http"})
_HOST = re.compile(
    r"([\w.~-]+@)?([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9.])?|\[[0-9A-Fa-f:.]+\])(:\d+)?"
)
_ACCOUNT = re.compile(r"[\w.~-]+@")
_NUMBER = re.compile(r"[0-9.]+|0x[0-9A-Fa-f.x]+")


@dataclass(frozen=True, slots=True)
class SourceRules:
    """The schemes that this server fetches by, and the hosts inside its network that it may
    call."""

    schemes: frozenset[str] = WEB
    inside: frozenset[str] = frozenset()

    def objection(self, source: str) -> str | None:
        """Why a text may not be the source of a record; None if it may."""
        address = source_address(source)
        scheme, _, _ = address.partition("://")
        # Git's short form counts with an account alone: `ext::` and `javascript:` look like a host.
        written_out = "://" in source or _ACCOUNT.match(source.strip())
        if not written_out or not scheme.isalpha():
            return "expected the address of a git repository, such as https://host/path"
        allowed = WEB | self.schemes
        if scheme not in allowed:
            return f"a source is fetched by {', '.join(sorted(allowed))}, not by {scheme[:20]}"
        return None if scheme == "file" else self._object_to_host(address)

    def _object_to_host(self, address: str) -> str | None:
        try:
            place = urlsplit(address)
            host, netloc, _ = place.hostname or "", place.netloc, place.port
        except ValueError:
            return "its host or port can't be read"
        if _HOST.fullmatch(netloc) is None:
            return f"{netloc[:100]!r} can't be the name of a host"
        if host not in self.inside and is_inner(host):
            return f"{host} lies inside this server's network; its operator can allow it"
        return None


def is_inner(host: str) -> bool:
    """Whether a host can only be this machine or one of its network, by its name alone. Addresses
    may be written in every way that a resolver takes for one."""
    name = host.rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return not is_public(name)
    except ValueError:
        pass
    try:
        return _NUMBER.fullmatch(name) is not None and not is_public(
            str(ipaddress.IPv4Address(socket.inet_aton(name)))
        )
    except OSError:
        return False
