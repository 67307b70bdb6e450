"""Checks where HTTP calls may go (web, public or local addresses), finds proxies, and forms request
targets."""

import ipaddress
import socket
from urllib.parse import SplitResult, urlsplit
from urllib.request import getproxies, proxy_bypass

from rookery.core.http_failures import UnsafeAnswer

ALLOWING = "--allow-private-sources allows it"
NAT64 = ipaddress.ip_network("64:ff9b::/96")
"""IPv6 addresses that lead to the IPv4 address in their last four bytes."""
GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")
"""The IPv6 addresses that are assigned to the public. Outside of it are obsolete and local ways to
write IPv4 addresses, such as ::127.0.0.1, ::ffff:0:127.0.0.1 and 64:ff9b:1::/48, and local
networks."""


NOT_FOR_ALL = (ipaddress.ip_network("192.0.0.0/24"), ipaddress.ip_network("192.88.99.0/24"))
"""Special networks with addresses that Python takes for public: a cloud's metadata service has one
of the first, and the relays of the second are gone."""


def is_web_address(address: str) -> bool:
    try:
        place = urlsplit(address)
    except ValueError:
        return False
    return place.scheme in ("http", "https")


def is_public(address: str) -> bool:
    """Whether an IP address is public, not of this machine or a network around it."""
    # Without the interface name that an IPv6 address may end with.
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        inner = found.ipv4_mapped or found.sixtofour
        if found in NAT64:
            inner = ipaddress.IPv4Address(found.packed[-4:])
        if inner:
            return is_public(str(inner))
        return found in GLOBAL_UNICAST and found.is_global
    special = found.is_multicast or any(found in network for network in NOT_FOR_ALL)
    return found.is_global and not special


def is_loopback(host: str) -> bool:
    """Whether a host name or address can only be this machine's own."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def public_address(host: str, port: int) -> str:
    """Return the public IP address of a host. The caller connects to this very address, so that a
    second lookup can't lead elsewhere."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = [str(entry[4][0]) for entry in found]
    if not all(map(is_public, addresses)):
        raise UnsafeAnswer(f"{host} lies in this machine's own network ({ALLOWING})")
    return addresses[0]


def split_web_address(url: str) -> SplitResult:
    place = urlsplit(url)
    if place.scheme not in ("http", "https") or not place.hostname:
        raise ValueError("its address does not begin with http:// or https://")
    return place


def target_of(place: SplitResult, *, whole: bool) -> str:
    """Return the target of a request; with `whole` it is the complete URL, as proxies need it,
    except for https."""
    bare = place._replace(path=place.path or "/", fragment="")
    if not (whole and place.scheme == "http"):
        bare = bare._replace(scheme="", netloc="")
    return bare.geturl()


def origin_of(url: str) -> str:
    return "/".join(url.split("/")[: 3 if "://" in url else 1])


def find_proxy(place: SplitResult) -> SplitResult | None:
    """Return the proxy that the environment names for a place; None for none."""
    found = getproxies().get(place.scheme)
    if not found or proxy_bypass(place.netloc.rpartition("@")[2]):
        return None
    return urlsplit(found if "://" in found else f"http://{found}")
