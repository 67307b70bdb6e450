"""The one HTTP client, built on urllib3, for workers and their downloads, for commands, and for
GitHub.

Every call blocks and belongs in a thread; threads may share a client. Each call has its own
connection, time limits and a limit on the answer's size. Proxies come from the environment, and
certificates are checked against the system's authorities. Bodies are never decompressed, so a small
answer can't expand. Only downloads follow redirects, and never with credentials. urllib3 was
preferred to httpx because it adds no further package to workers and needs no event loop.
"""

import base64
import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Protocol
from urllib.parse import SplitResult, unquote, urljoin, urlsplit

import urllib3
from urllib3.connection import HTTPConnection

from rookery.core import __version__
from rookery.core.http_failures import CallRefused, failing, too_large
from rookery.core.http_places import (
    find_proxy,
    origin_of,
    public_address,
    split_web_address,
    target_of,
)

SECONDS = 30.0
WHOLE_CALL_SECONDS = 300.0
WHOLE_DOWNLOAD_SECONDS = 6 * 3600.0
LARGEST_ANSWER = 64 * 2**20
LARGEST_FILE = 2**30
CHUNK_BYTES = 2**18
MOST_REDIRECTS = 5
REDIRECTS = (301, 302, 303, 307, 308)
FIRST_REFUSAL = 300


class HeldCall:
    """A call whose answer the server may hold back. Another thread may abandon it by closing its
    connection, which tells the server that nobody waits any more."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.left = False
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None

    def leave(self) -> None:
        with self._lock:
            self.left = True
            taken = self._socket
        if taken is not None:
            with contextlib.suppress(OSError):
                taken.shutdown(socket.SHUT_RDWR)

    def wait_at_most(self, seconds: float) -> None:
        """Set the time limit for each further piece of the answer."""
        with self._lock:
            if self._socket is not None and not self.left:
                self._socket.settimeout(seconds)

    def watch(self, pool: urllib3.HTTPConnectionPool) -> None:
        """Remember the connection that the pool opens for the call."""
        make = pool.ConnectionCls

        def made(*args: object, **options: object) -> HTTPConnection:
            connection: HTTPConnection = make(*args, **options)  # type: ignore[arg-type, assignment]
            connect = connection.connect

            def connected() -> None:
                self._check_waiting()
                connect()
                # Keep the socket here: the connection drops it once the answer's headers are read.
                self._take(connection.sock)

            connection.connect = connected  # type: ignore[method-assign]
            return connection

        pool.ConnectionCls = made  # type: ignore[assignment]

    def _take(self, opened: socket.socket) -> None:
        with self._lock:
            self._socket = opened
        self._check_waiting()

    def _check_waiting(self) -> None:
        if self.left:
            raise OSError("nobody waits any more")


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """A complete answer, of any status."""

    status: int
    phrase: str
    headers: Mapping[str, str]
    """The headers by name, ignoring case."""
    body: bytes


class HttpStream:
    """The body of an answer as it arrives, with limits on time and size."""

    def __init__(self, answer: urllib3.BaseHTTPResponse, most_bytes: int, seconds: float) -> None:
        self._answer = answer
        self._most_bytes = most_bytes
        self._until = time.monotonic() + seconds
        self.status = answer.status
        self.phrase = answer.reason or ""
        self.headers: Mapping[str, str] = answer.headers

    def pieces(self) -> Iterator[bytes]:
        """Yield the body in pieces; raise UnsafeAnswer if it is larger than allowed."""
        left = self._most_bytes
        while data := self._piece(min(CHUNK_BYTES, left + 1)):
            left -= len(data)
            if left < 0:
                raise too_large(self._most_bytes)
            yield data

    def lines(self) -> Iterator[bytes]:
        """Yield the lines of a body that may be endless; the size limit applies to a line."""
        rest = b""
        while data := self._piece(CHUNK_BYTES):
            *whole, rest = (rest + data).split(b"\n")
            for line in whole:
                yield line + b"\n"
            if len(rest) > self._most_bytes:
                raise too_large(self._most_bytes)

    def read(self) -> bytes:
        return b"".join(self.pieces())

    def save(self, into: Path) -> None:
        """Save the body in a file, under a temporary name until it is complete; an incomplete file
        is removed."""
        into.parent.mkdir(parents=True, exist_ok=True)
        part = into.with_name(f"{into.name}.part")
        try:
            with part.open("wb") as file:
                for data in self.pieces():
                    file.write(data)
            part.replace(into)
        finally:
            part.unlink(missing_ok=True)

    def _piece(self, size: int) -> bytes:
        if time.monotonic() > self._until:
            raise TimeoutError
        return self._answer.read1(size)


@dataclass(frozen=True, slots=True)
class _Call:
    """One call. `at` is the IP address to connect to in place of the host's."""

    method: str
    url: str
    body: bytes | IO[bytes] | None
    headers: Mapping[str, str]
    seconds: float
    held: HeldCall | None = None
    at: str = ""


@dataclass(frozen=True)
class HttpClient:
    """Calls servers, with limits on the time and size of answers."""

    seconds: float = SECONDS
    """The time limit for connecting, and for each piece of an answer."""
    largest: int = LARGEST_ANSWER
    agent: str = f"rookery/{__version__}"
    home: str = ""
    """If given, only this server may have a private address; all others must be public."""
    connect_seconds: float | None = None
    """The time limit for connecting, if it is different."""

    def call(
        self,
        method: str,
        url: str,
        *,
        body: bytes | IO[bytes] | None = None,
        headers: Mapping[str, str] | None = None,
        held: HeldCall | None = None,
    ) -> HttpAnswer:
        """Make a call and return its answer, of any status; raise NoAnswer or UnsafeAnswer."""
        with self.open(method, url, body=body, headers=headers, held=held) as stream:
            return HttpAnswer(stream.status, stream.phrase, stream.headers, stream.read())

    def download(
        self, url: str, into: Path, *, authorization: str = "", most_bytes: int = LARGEST_FILE
    ) -> None:
        """Download a file, following redirects; raise NoAnswer, CallRefused or UnsafeAnswer."""
        headers = {"Authorization": authorization} if authorization else {}
        with self.follow(url, headers, most_bytes) as stream:
            stream.save(into)

    @contextlib.contextmanager
    def follow(
        self, url: str, headers: Mapping[str, str] | None = None, most_bytes: int = LARGEST_FILE
    ) -> Iterator[HttpStream]:
        """Fetch an address, following redirects; `headers` are sent to the first server only."""
        at = url
        for _ in range(MOST_REDIRECTS + 1):
            with (
                failing(f"{url} can't be fetched"),
                self._sent(_Call("GET", at, None, headers or {}, self.seconds)) as answer,
            ):
                if answer.status not in REDIRECTS:
                    if answer.status >= FIRST_REFUSAL:
                        raise CallRefused(f"{url} answers {answer.status}", answer.status)
                    yield HttpStream(answer, most_bytes, WHOLE_DOWNLOAD_SECONDS)
                    return
                at, headers = urljoin(at, answer.headers.get("Location", "")), {}
        raise CallRefused(f"{url} redirects in a circle")

    @contextlib.contextmanager
    def open(
        self,
        method: str,
        url: str,
        *,
        body: bytes | IO[bytes] | None = None,
        headers: Mapping[str, str] | None = None,
        held: HeldCall | None = None,
        whole_seconds: float = WHOLE_CALL_SECONDS,
    ) -> Iterator[HttpStream]:
        """Make a call and yield its answer, of any status, to be read."""
        seconds = self.seconds + (held.seconds if held else 0.0)
        with (
            failing(f"No server answers at {origin_of(url)}"),
            self._sent(_Call(method, url, body, headers or {}, seconds, held)) as answer,
        ):
            yield HttpStream(answer, self.largest, whole_seconds + seconds)

    def post_to_stranger(
        self, url: str, at: str, body: bytes, headers: Mapping[str, str] | None = None
    ) -> int:
        """Post to a server that a stranger named, at the IP address `at` with the host name of the
        URL and without a proxy; return its status. Raise NoAnswer or UnsafeAnswer.

        The client's time limit is for the whole call, because a server that answers byte by byte
        keeps the limit of each piece and would hold the caller up for days."""
        held = HeldCall(0.0)
        clock = threading.Timer(self.seconds, held.leave)
        clock.daemon = True
        clock.start()
        try:
            with failing(f"No server answers at {origin_of(url)}"):
                return self._post_while_held(url, at, body, headers or {}, held)
        finally:
            clock.cancel()

    def _post_while_held(
        self, url: str, at: str, body: bytes, headers: Mapping[str, str], held: HeldCall
    ) -> int:
        """Raise TimeoutError if the call was abandoned meanwhile, whatever error that caused."""
        try:
            call = _Call("POST", url, body, headers, self.seconds, held, at)
            with self._sent(call) as answer:
                HttpStream(answer, self.largest, self.seconds).read()
                status = answer.status
        except (OSError, urllib3.exceptions.HTTPError):
            if not held.left:
                raise
        if held.left:
            raise TimeoutError
        return status

    @contextlib.contextmanager
    def _sent(self, call: _Call) -> Iterator[urllib3.BaseHTTPResponse]:
        place, seconds = split_web_address(call.url), call.seconds
        proxy = None if call.at else find_proxy(place)
        with _proxied(place, proxy, self._trust) if proxy else self._direct(place, call.at) as pool:
            if call.held:
                call.held.watch(pool)
            target = target_of(place, whole=proxy is not None)
            answer = pool.urlopen(
                call.method, target, body=call.body,
                headers=self._headers(place, call.body, call.headers),
                redirect=False, retries=False, assert_same_host=False, preload_content=False,
                decode_content=False,
                timeout=urllib3.Timeout(connect=self.connect_seconds or seconds, read=seconds),
            )  # fmt: skip
            try:
                yield answer
            finally:
                # Not returned to the pool: each call has its own connection.
                answer.close()

    def _direct(self, place: SplitResult, pinned: str = "") -> urllib3.HTTPConnectionPool:
        """Return a connection pool for a place; for servers other than `home`, it connects to the
        very address that was checked."""
        host = place.hostname or ""
        at = pinned or host
        if not pinned and self.home and place.netloc != urlsplit(self.home).netloc:
            at = public_address(host, place.port or 0)
        if place.scheme == "http":
            return urllib3.HTTPConnectionPool(at, place.port)
        return urllib3.HTTPSConnectionPool(
            at, place.port, ssl_context=self._trust, server_hostname=host
        )

    def _headers(
        self, place: SplitResult, body: bytes | IO[bytes] | None, more: Mapping[str, str]
    ) -> dict[str, str]:
        sized = {"Content-Length": str(len(body))} if isinstance(body, bytes) else {}
        return {
            "Accept-Encoding": "identity",
            **sized,
            "Host": place.netloc.rpartition("@")[2],
            "User-Agent": self.agent,
            "Accept": "*/*",
            "Connection": "close",
        } | dict(more)

    @cached_property
    def _trust(self) -> ssl.SSLContext:
        return ssl.create_default_context()


def basic(user: str, password: str) -> str:
    """Return the Authorization header for a name and a password."""
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


class Readable(Protocol):
    """A source of bytes."""

    def read(self, size: int, /) -> bytes: ...


def copy_at_most(source: Readable, target: IO[bytes], most_bytes: int) -> None:
    """Copy a source into a file; raise UnsafeAnswer if it has more than `most_bytes`."""
    left = most_bytes
    while data := source.read(min(CHUNK_BYTES, left + 1)):
        left -= len(data)
        if left < 0:
            raise too_large(most_bytes)
        target.write(data)


def _proxied(
    place: SplitResult, proxy: SplitResult, trust: ssl.SSLContext
) -> urllib3.HTTPConnectionPool:
    headers = {}
    if proxy.username is not None:
        shown = basic(unquote(proxy.username), unquote(proxy.password or ""))
        headers["Proxy-Authorization"] = shown
    bare = f"{proxy.scheme}://{proxy.netloc.rpartition('@')[2]}"
    manager = urllib3.ProxyManager(bare, proxy_headers=headers, ssl_context=trust)
    return manager.connection_from_host(place.hostname, place.port, place.scheme)
