"""The only network access of git and cargo: a proxy in the worker that connects only to public
addresses.

They run in a namespace without a network, where this proxy is all that they can reach. So it does
not matter which names a source from strangers contains, in its settings, its submodules, a redirect
or its dependencies: the proxy looks up each host once and checks the address that it then connects
to, and the port. It connects to machines in the owner's own network, and to any port, only if the
owner allows that.
"""

import asyncio
import base64
import contextlib
import shutil
import socket
import tempfile
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

from rookery.core.boundary.offload import Threads
from rookery.core.http_places import ALLOWING, is_public
from rookery.worker.sandbox.enclosure import PORT

MOST_HEAD = 65_536
MOST_CONNECTIONS = 64
CONNECT_SECONDS = 30.0
CHUNK_BYTES = 65_536
PORTS = {"http": 80, "https": 443, "git": 9418}
"""The ports that sources come from. A repository may have another one."""
FOR_THIS_HOP = (b"proxy-", b"connection:", b"keep-alive:")


class ConnectionNotAllowed(Exception):
    """A refused connection. The text says which and why."""


@dataclass(frozen=True, slots=True)
class ProxyTarget:
    """What a program wants to connect to; for plain HTTP also the head of its request."""

    host: str
    port: int
    head: bytes = b""

    @property
    def name(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def read_head(head: bytes) -> ProxyTarget:
    """Parse the head of a request to the proxy. Raises ConnectionNotAllowed."""
    line, _, rest = head.partition(b"\r\n")
    try:
        method, target, version = line.decode("ascii").split(" ")
        parts = urlsplit(f"//{target}" if method == "CONNECT" else target)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise ConnectionNotAllowed("a request that can't be read") from None
    if method == "CONNECT" and host and port:
        return ProxyTarget(host, port)
    if parts.scheme != "http" or not host:
        raise ConnectionNotAllowed("a request that is neither http nor https")
    path = parts._replace(scheme="", netloc="", fragment="").geturl() or "/"
    lines = [each for each in rest.split(b"\r\n") if not each.lower().startswith(FOR_THIS_HOP)]
    first = f"{method} {path} {version}".encode()
    whole = (first, b"Connection: close", *(each for each in lines if each), b"", b"")
    return ProxyTarget(host, port or PORTS["http"], b"\r\n".join(whole))


@dataclass(slots=True)
class Gateway:
    """A proxy for the length of a fetch. It notes what it has refused, for the error of the
    fetch."""

    threads: Threads
    private: bool = False
    """Whether machines in the owner's own network may be contacted, on any port."""
    repository: str = ""
    """The address of the source. It may be on a port of its own."""
    proxies: Mapping[str, str] = field(default_factory=dict)
    """The owner's proxies, as in environment variables."""
    relay: Path | None = None
    """The socket for use in a sandbox; without one, the proxy listens on a port of this machine."""
    address: str = f"http://127.0.0.1:{PORT}"
    refused: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    """Hosts whose names could not be resolved."""
    turned_away: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once a connection was refused, so that a program need not try again and again."""
    _served: set["asyncio.Task[None]"] = field(default_factory=set)

    @property
    def variables(self) -> dict[str, str]:
        """The variables that make git, cargo and their libraries use the proxy."""
        names = ("http_proxy", "https_proxy", "all_proxy", "HTTPS_PROXY", "ALL_PROXY")
        return dict.fromkeys((*names, "CARGO_HTTP_PROXY"), self.address)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection of a program."""
        task = asyncio.current_task()
        assert task
        self._served.add(task)
        # Only `close` cancels it, and asyncio would print that as an error.
        with contextlib.suppress(asyncio.CancelledError):
            try:
                await self._serve(reader, writer)
            finally:
                self._served.discard(task)
                await _closed(writer)

    def trouble(self) -> str:
        """Return the reason for the failure of a fetch through this proxy; empty if it is not
        known."""
        if self.refused:
            return self.refused[0]
        return f"the network can't be reached, or has no {self.missing[0]}" if self.missing else ""

    async def close(self) -> None:
        """Close all connections."""
        for task in self._served:
            task.cancel()
        if self._served:
            await asyncio.wait(self._served)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                if len(self._served) > MOST_CONNECTIONS:
                    raise ConnectionNotAllowed(f"more than {MOST_CONNECTIONS} connections at once")
                wanted = read_head(await reader.readuntil(b"\r\n\r\n"))
                from_there, there = await self._connected(wanted)
        except ConnectionNotAllowed as why:
            self.refused.append(str(why))
            self.turned_away.set()
            writer.write(b"HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n" + str(why).encode())
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            writer.write(b"HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\n\r\n")
        else:
            if not wanted.head:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            try:
                await asyncio.gather(_carry(reader, there), _carry(from_there, writer))
            finally:
                await _closed(there)

    async def _connected(
        self, wanted: ProxyTarget
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        self._check_port(wanted)
        proxy = self._proxy_for(wanted)
        addresses = await self._looked_up(wanted, through_proxy=proxy is not None)
        if proxy is None:
            reader, writer = await asyncio.open_connection(addresses[0], wanted.port)
            writer.write(wanted.head)
            return reader, writer
        reader, writer = await asyncio.open_connection(proxy.hostname, proxy.port or 80)
        writer.write(f"CONNECT {wanted.name} HTTP/1.1\r\nHost: {wanted.name}\r\n".encode())
        writer.write(_credentials(proxy) + b"\r\n")
        answer = await reader.readuntil(b"\r\n\r\n")
        if answer.split(b" ")[1:2] != [b"200"]:
            raise OSError("the machine's proxy refuses")
        writer.write(wanted.head)
        return reader, writer

    def _check_port(self, wanted: ProxyTarget) -> None:
        """Raise ConnectionNotAllowed for a port of mail, shells and other services."""
        if self.private or wanted.port in PORTS.values():
            return
        if (wanted.host, wanted.port) != _place_of(self.repository):
            raise ConnectionNotAllowed(f"{wanted.name} is no port that sources come from")

    def _proxy_for(self, wanted: ProxyTarget) -> SplitResult | None:
        known = {name.lower().removesuffix("_proxy"): value for name, value in self.proxies.items()}
        found = known.get("http" if wanted.head else "https") or known.get("all", "")
        if not found or _is_near(wanted.host, known.get("no", "")):
            return None
        parts = urlsplit(found if "://" in found else f"http://{found}")
        return parts if parts.scheme == "http" and parts.hostname else None

    async def _looked_up(self, wanted: ProxyTarget, *, through_proxy: bool) -> tuple[str, ...]:
        """All addresses of a host. Raises ConnectionNotAllowed if one of them is not public."""
        try:
            addresses = await self.threads.io(_addresses, wanted.host)
        except OSError:
            # With a proxy behind this one, names need not be resolvable here.
            if through_proxy:
                return ()
            self.missing.append(wanted.host)
            raise
        if not self.private and not all(map(is_public, addresses)):
            raise ConnectionNotAllowed(
                f"{wanted.host} lies in this machine's own network ({ALLOWING})"
            )
        return addresses


@contextlib.asynccontextmanager
async def open_gateway(gateway: Gateway, *, confined: bool) -> AsyncIterator[Gateway]:
    """Start the gateway: on a socket for a sandbox, else on a port of this machine."""
    if not confined:
        server = await asyncio.start_server(gateway.serve, "127.0.0.1", 0, limit=MOST_HEAD)
        gateway.address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with _serving(gateway, server):
            yield gateway
        return
    # In the system's temporary folder, because the path of a socket must be short.
    folder = await gateway.threads.io(tempfile.mkdtemp, "", "rookery-")
    gateway.relay = Path(folder, "door")
    try:
        server = await asyncio.start_unix_server(gateway.serve, str(gateway.relay), limit=MOST_HEAD)
        async with _serving(gateway, server):
            yield gateway
    finally:
        await gateway.threads.io(shutil.rmtree, folder, ignore_errors=True)


@contextlib.asynccontextmanager
async def _serving(gateway: Gateway, server: asyncio.Server) -> AsyncIterator[None]:
    try:
        yield
    finally:
        server.close()
        await gateway.close()
        await server.wait_closed()


def _place_of(address: str) -> tuple[str | None, int | None]:
    try:
        parts = urlsplit(address)
        return parts.hostname, parts.port
    except ValueError:
        return None, None


def _addresses(host: str) -> tuple[str, ...]:
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(entry[4][0]) for entry in found))


def _is_near(host: str, near: str) -> bool:
    """Whether a host is in the comma-separated list of hosts that are contacted without a proxy."""
    names = [name.strip().lstrip(".").lower() for name in near.split(",") if name.strip()]
    return any(name == "*" or host == name or host.endswith(f".{name}") for name in names)


def _credentials(proxy: SplitResult) -> bytes:
    if proxy.username is None:
        return b""
    both = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return b"Proxy-Authorization: Basic " + base64.b64encode(both.encode()) + b"\r\n"


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(CHUNK_BYTES):
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()


async def _closed(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
