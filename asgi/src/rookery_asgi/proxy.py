"""Takes the client's address and scheme from a proxy's headers, when the proxy is trusted."""

import ipaddress
from dataclasses import dataclass

from rookery_asgi.types import Header, Scope

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
SECURE = {"http": "https", "ws": "wss", "https": "https", "wss": "wss"}
PLAIN = {"http": "http", "ws": "ws", "https": "http", "wss": "ws"}


@dataclass(frozen=True, slots=True)
class Trust:
    """Which peers may speak for others: addresses, networks, other literals, or *."""

    everyone: bool
    networks: tuple[Network, ...]
    literals: frozenset[str]

    @classmethod
    def parse(cls, text: str) -> "Trust":
        """Read a comma-separated list."""
        parts = [part.strip() for part in text.split(",") if part.strip()]
        networks: list[Network] = []
        literals: set[str] = set()
        for part in parts:
            try:
                networks.append(ipaddress.ip_network(part, strict=False))
            except ValueError:
                literals.add(part)
        return cls("*" in parts, tuple(networks), frozenset(literals))

    def __contains__(self, host: str) -> bool:
        """Whether that peer is trusted."""
        if self.everyone or host in self.literals:
            return True
        try:
            address = ipaddress.ip_address(host)
        except ValueError:
            return False
        mapped = getattr(address, "ipv4_mapped", None)
        return any(address in net or (mapped and mapped in net) for net in self.networks)

    def trusts_peer(self, client: tuple[str, int] | None) -> bool:
        """A peer on a unix socket has no address: it is as local as the loopback."""
        if client is None:
            return self.everyone or "127.0.0.1" in self
        return client[0] in self


def joined(headers: list[Header], name: bytes) -> str:
    """All values of a repeated list header as one."""
    return ",".join(value.decode("latin-1") for key, value in headers if key == name)


def original_client(trust: Trust, chain: str) -> str | None:
    """The last address in the chain that is not one of our own proxies."""
    hosts = [part.strip() for part in chain.split(",") if part.strip()]
    for host in reversed(hosts):
        if trust.everyone:
            return hosts[0]
        if bare_host(host) not in trust:
            return host
    return hosts[0] if hosts else None


def bare_host(text: str) -> str:
    """The address without the port that some proxies add."""
    if text.startswith("["):
        return text[1:].partition("]")[0]
    if text.count(":") == 1:
        return text.partition(":")[0]
    return text


class ProxyHeaders:
    """Rewrites a scope in place; called only for requests that carry such headers."""

    def __init__(self, trust: Trust) -> None:
        """`trust` says whose headers count."""
        self._trust = trust

    def __call__(self, scope: Scope) -> None:
        """Apply X-Forwarded-Proto and X-Forwarded-For."""
        if not self._trust.trusts_peer(scope["client"]):
            return
        headers: list[Header] = scope["headers"]
        self._apply_scheme(scope, joined(headers, b"x-forwarded-proto").strip().lower())
        client = original_client(self._trust, joined(headers, b"x-forwarded-for"))
        if client is not None:
            scope["client"] = (bare_host(client), 0)

    @staticmethod
    def _apply_scheme(scope: Scope, scheme: str) -> None:
        table = SECURE if scheme in ("https", "wss") else PLAIN if scheme in ("http", "ws") else {}
        scope["scheme"] = table.get(scope["scheme"], scope["scheme"])
