"""What our calls over HTTP have in common, whoever makes them: where they go, and why they fail."""

import ipaddress
import urllib.error
import urllib.parse
import urllib.request


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """What proves who we are goes to the server it was meant for, and nowhere else."""

    def redirect_request(self, *_: object, **__: object) -> None:
        return None


def is_web_address(address: str) -> bool:
    """urllib would read files too."""
    return urllib.parse.urlsplit(address).scheme in ("http", "https")


NAT64 = ipaddress.ip_network("64:ff9b::/96")
"""IPv6 addresses that lead to the IPv4 address in their last four bytes."""


def is_public(address: str) -> bool:
    """Whether an IP address is one for everybody: not of this machine or of a network around it."""
    # Without the interface that IPv6 may name.
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        inner = found.ipv4_mapped or found.sixtofour
        if found in NAT64:
            inner = ipaddress.IPv4Address(found.packed[-4:])
        return is_public(str(inner)) if inner else found.is_global and not found.is_multicast
    return found.is_global and not found.is_multicast


def is_loopback(host: str) -> bool:
    """Whether a host's name can only be this machine's own."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def cause_of(error: Exception) -> Exception:
    """What is inside of urllib's own error, which says little."""
    inner = error.reason if isinstance(error, urllib.error.URLError) else error
    return inner if isinstance(inner, Exception) else error


def reason_of(error: Exception) -> str:
    """Why a call failed, in a few words."""
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(cause, TimeoutError):
        return "it takes too long"
    if isinstance(cause, OSError) and cause.strerror:
        return cause.strerror
    return str(cause) or type(cause).__name__
