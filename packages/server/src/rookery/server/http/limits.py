"""Which requests this server accepts: for which hosts, through which proxies, and of what size."""

import ipaddress
import re
import socket
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from rookery.core.errors import Complaint
from rookery.server.http.scope import (
    ASK_ROOT,
    BINARIES_PATH,
    BOOKS_PAGE,
    BOOKS_PATH,
    DOCUMENTS,
    NETS_PATH,
    PROGRAMS_PAGE,
    UPLOAD_PATH,
)
from rookery.server.settings import Settings

LARGEST_DOCUMENT = 20 * 10**6
"""The largest document that somebody may give Ask, in bytes."""

# Which host names this server answers to.
#
# A forged Host header poisons links and caches, and an attacker's web page can point a host name of
# its own at this machine. Both need a name, so plain addresses are always accepted.

_HOST = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::([0-9]{1,5}))?")
_ALWAYS = ("localhost", "*.localhost")


@dataclass(frozen=True, slots=True)
class Hosts:
    """Exact host names, and endings such as `.example.org`. An empty ending accepts any name."""

    names: frozenset[str]
    endings: tuple[str, ...]

    def allow(self, header: str) -> bool:
        matched = _HOST.fullmatch(header)
        if matched is None:
            return False
        name = matched[1].lower().rstrip(".")
        return name in self.names or name.endswith(self.endings) or _is_address(name)


def read_hosts(base_url: str | None, allowed: Iterable[str] = ()) -> Hosts:
    """The accepted hosts: that of the base URL, the allowed ones and this machine's. A leading `*`
    stands for anything."""
    own = urlsplit(base_url).hostname if base_url else None
    patterns = [word.lower() for word in (*_ALWAYS, *allowed, *([own] if own else []))]
    return Hosts(
        names=frozenset(word for word in patterns if not word.startswith("*")),
        endings=tuple(word[1:] for word in patterns if word.startswith("*")),
    )


def hosts_of_site(settings: Settings) -> Hosts:
    """The hosts of a site: its public name, the one that other instances use, this machine's name
    and those that the settings allow."""
    internal = urlsplit(settings.internal_url or "").hostname or "localhost"
    return read_hosts(settings.base_url, (socket.gethostname(), internal, *settings.allowed_hosts))


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


# The address of the client, seen through trusted proxies only.

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class BadProxy(Complaint):
    """A trusted proxy is neither an address nor a network."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Proxies:
    """The networks whose forwarding headers are trusted."""

    networks: tuple[Network, ...] = ()

    def trust(self, address: str) -> bool:
        if not self.networks:
            return False
        parsed = _address(address)
        return parsed is not None and any(parsed in network for network in self.networks)

    def client(self, peer: str, forwarded_for: Iterable[str]) -> str:
        """The nearest address that is not a trusted proxy.

        The header is read from the right, because everything left of an untrusted address was
        written by that address.
        """
        if not self.networks:
            return peer
        seen = peer
        for word in reversed([part.strip() for line in forwarded_for for part in line.split(",")]):
            if not self.trust(seen) or _address(word) is None:
                break
            seen = word
        return seen


def read_proxies(words: Iterable[str]) -> Proxies:
    """Parse the setting, such as `127.0.0.1, 10.0.0.0/8`."""
    networks = []
    for word in words:
        try:
            networks.append(ipaddress.ip_network(word, strict=False))
        except ValueError:
            raise BadProxy(
                f"A trusted proxy is an address or a network such as 10.0.0.0/8, not {word!r}."
            ) from None
    return Proxies(tuple(networks))


def is_ipv4(text: str) -> bool:
    """Whether a text is exactly an IPv4 address. Several times faster than making an address
    object."""
    try:
        socket.inet_pton(socket.AF_INET, text)
    except (OSError, ValueError):
        return False
    return True


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


# Limits on the size of a request and on the time it may take to arrive.


@dataclass(frozen=True, slots=True)
class RequestBounds:
    """Limits on the size of a request and on the time it may take to arrive. `bodies` has the paths
    that accept more than the default."""

    head_seconds: float = 30.0
    body_seconds: float = 30.0
    """The time for a small body, or for the next piece of a large one."""

    unread_seconds: float = 60.0
    """How long a client may read nothing of what waits for it."""

    head_bytes: int = 32 * 1024
    headers: int = 100
    path_bytes: int = 8 * 1024
    body_bytes: int = 1024 * 1024
    strangers_bytes: int = 64 * 1024
    """The limit for requests without credentials, and for paths that never ask for any."""

    bodies: dict[str, int] = field(default_factory=dict)
    folders: dict[str, int] = field(default_factory=dict)
    """Like `bodies`, for all paths directly below a folder."""

    @classmethod
    def of_settings(cls, settings: Settings) -> "RequestBounds":
        """The limits of a site, with those for uploads."""
        most = settings.upload_mb * 10**6
        document = min(most, LARGEST_DOCUMENT)
        return cls(
            head_seconds=settings.head_seconds,
            body_seconds=settings.body_seconds,
            bodies={
                BINARIES_PATH: most,
                NETS_PATH: most,
                PROGRAMS_PAGE: most,
                UPLOAD_PATH: most,
                BOOKS_PAGE: most,
                DOCUMENTS: document,
                f"{ASK_ROOT}{DOCUMENTS}": document,
            },
            folders={BOOKS_PATH: most},
        )

    def largest_body(self, path: str) -> int:
        below = self.folders.get(path.rpartition("/")[0], self.body_bytes)
        return self.bodies.get(path, below)
