"""Refuses requests that are too large, misdirected or malformed before anything looks into them."""

import re
from functools import lru_cache

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rookery.boundary.domains import Domain, runs
from rookery.web.faults import BadHost, BadPath, BodyTooLarge, HeadersTooLarge, PathTooLong
from rookery.web.house import Limits
from rookery.web.kit import Kit
from rookery.web.paths import ASKS_NOBODY
from rookery.web.scope import (
    body_in,
    header,
    header_values,
    headers_of,
    http_version_of,
    is_http,
    path_of,
    query_of,
    raw_path_of,
)

_STRAY_PERCENT = re.compile(rb"%(?![0-9a-fA-F]{2})")


class HostCheck:
    """Whether a request is meant for this server."""

    def __init__(self, kit: Kit) -> None:
        # Nearly every request names the same host.
        self._allowed = lru_cache(maxsize=256)(kit.house.hosts.allow)

    def check(self, scope: Scope) -> None:
        """Raises BadHost."""
        named = header_values(scope, b"host")
        if not named and http_version_of(scope) == "1.0":
            return
        if len(named) != 1 or not self._allowed(named[0].decode("latin-1")):
            raise BadHost


@runs(Domain.LOOP, "compares a few lengths and one name")
class RequestLimits:
    """Host, address, headers and body, in this order."""

    def __init__(self, app: ASGIApp, kit: Kit) -> None:
        self.app = app
        self._limits = kit.house.limits
        self._hosts = HostCheck(kit)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not is_http(scope):
            await self.app(scope, receive, send)
            return
        self._hosts.check(scope)
        _check_address(scope, self._limits)
        _check_headers(scope, self._limits)
        most, little = self._limits.largest_body(path_of(scope)), self._limits.strangers_bytes
        if path_of(scope) in ASKS_NOBODY:
            most = little
        _check_announced_length(scope, most)
        if not shows_something(scope):
            # Only what is read counts: most are told to say who they are before anybody reads.
            most = min(most, little)
        await self.app(scope, _counting(receive, most), send)


def shows_something(scope: Scope) -> bool:
    """Whether a request brings what its sender can be known by; who reads its body looks at that
    first, and at the session of a form before the form."""
    proofs = (b"authorization", b"cookie")
    return any(name in proofs for name, _ in headers_of(scope))


def _check_address(scope: Scope, limits: Limits) -> None:
    path, raw, query = path_of(scope), raw_path_of(scope), query_of(scope)
    if len(raw) + len(query) > limits.path_bytes:
        raise PathTooLong
    # U+FFFD is what the server makes of percent signs that spell no character.
    if "\0" in path or "\ufffd" in path or b"%00" in query or b"\0" in query:
        raise BadPath
    if b"%" in raw and _STRAY_PERCENT.search(raw):
        raise BadPath


def _check_headers(scope: Scope, limits: Limits) -> None:
    headers = headers_of(scope)
    size = sum(len(name) + len(value) for name, value in headers)
    if len(headers) > limits.headers or size > limits.head_bytes:
        raise HeadersTooLarge


def _check_announced_length(scope: Scope, most: int) -> None:
    length = header(scope, b"content-length")
    if length.isdecimal() and int(length[:20]) > most:
        raise BodyTooLarge


def _counting(receive: Receive, most: int) -> Receive:
    """For bodies that come in pieces and announce no length."""
    seen = 0

    async def counted() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(body_in(message))
        if seen > most:
            raise BodyTooLarge
        return message

    return counted
