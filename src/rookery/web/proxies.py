"""Who is at the other end, seen through the proxies that are trusted and no others."""

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass

from rookery.core.complaint import Complaint

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class BadProxy(Complaint):
    """A trusted proxy is neither an address nor a network."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Proxies:
    """The networks whose forwarding headers are believed."""

    networks: tuple[Network, ...] = ()

    def trust(self, address: str) -> bool:
        if not self.networks:
            return False
        parsed = _address(address)
        return parsed is not None and any(parsed in network for network in self.networks)

    def client(self, peer: str, forwarded_for: Iterable[str]) -> str:
        """The nearest address that no trusted proxy stands for.

        Read from the right: what lies left of an untrusted address is whatever that one wrote.
        """
        if not self.networks:
            return peer
        seen = peer
        for word in reversed([part.strip() for line in forwarded_for for part in line.split(",")]):
            if not self.trust(seen) or _address(word) is None:
                break
            seen = word
        return seen


def proxies(words: Iterable[str]) -> Proxies:
    """From settings such as `127.0.0.1, 10.0.0.0/8`."""
    networks = []
    for word in words:
        try:
            networks.append(ipaddress.ip_network(word, strict=False))
        except ValueError:
            raise BadProxy(
                f"A trusted proxy is an address or a network such as 10.0.0.0/8, not {word!r}."
            ) from None
    return Proxies(tuple(networks))


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
