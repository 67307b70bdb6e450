"""Listening sockets: TCP, unix and inherited ones."""

import contextlib
import errno
import os
import socket
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rookery_asgi.binds import Bind, binds_of
from rookery_asgi.errors import CannotBind
from rookery_asgi.options import Options

Address = tuple[str, int | None] | None
NOT_HERE = frozenset({errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT})
EVERYWHERE = frozenset({"0.0.0.0", "::"})  # noqa: S104 - compared with, not bound to


@dataclass(frozen=True, slots=True)
class Listener:
    """A bound socket, and what is to be known of it."""

    sock: socket.socket
    secure: bool = False
    """Whether TLS is spoken there."""
    path: str | None = None
    """The socket file that goes with it."""
    own: bool = False
    """Whether other sockets can be bound to its address beside it."""

    def stop_listening(self) -> None:
        """Leave the clients to the other sockets on the address, until somebody listens again."""
        if self.own:
            with contextlib.suppress(OSError):
                self.sock.shutdown(socket.SHUT_RD)

    def close(self) -> None:
        """Give the address back."""
        if self.path is not None:
            with contextlib.suppress(OSError):
                Path(self.path).unlink()
        self.sock.close()


def bind(options: Options, *, shared: bool = False) -> list[Listener]:
    """Bound sockets that do not listen yet; `shared` lets several processes bind the address."""
    bound: list[Listener] = []
    try:
        for place in binds_of(options):
            bound += bind_place(place, secure=options.ssl_certfile is not None, shared=shared)
    except CannotBind:
        for listener in bound:
            listener.close()
        raise
    return bound


def bind_place(place: Bind, *, secure: bool, shared: bool) -> list[Listener]:
    """The sockets of one address; a host may have several."""
    secure = secure and not place.plain
    if place.fd is not None:
        return [Listener(inherited(place.fd), secure)]
    if place.path is not None:
        return [Listener(bind_unix(place.path, place.mode), secure, place.path)]
    socks = bind_tcp(place.host, place.port, shared=shared)
    return [Listener(sock, secure, own=shared) for sock in socks]


def bind_again(listener: Listener) -> Listener:
    """Another socket on the same address, between which the kernel shares out the clients; the
    same where that can't be, as for unix sockets and inherited ones."""
    if not listener.own:
        return listener
    family = listener.sock.family
    alone = family != socket.AF_INET6 or not listener.sock.getsockopt(
        socket.IPPROTO_IPV6, socket.IPV6_V6ONLY
    )
    sock = bind_one(family, listener.sock.getsockname(), shared=True, alone=alone)
    return Listener(sock, listener.secure, own=True)


def inherited(fd: int) -> socket.socket:
    """The socket that another process opened for us."""
    try:
        return socket.socket(fileno=fd)
    except OSError as error:
        raise CannotBind(f"descriptor {fd} is no socket", error.strerror or error) from None


def addresses_of(host: str) -> list[tuple[socket.AddressFamily, tuple[Any, ...]]]:
    """All addresses of a host, each once; "localhost" usually has two."""
    try:
        found = socket.getaddrinfo(
            host or None, 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except OSError as error:
        raise CannotBind(host, error.strerror or error) from None
    return list(dict.fromkeys((family, address) for family, _, _, _, address in found))


def bind_tcp(host: str, port: int, *, shared: bool) -> list[socket.socket]:
    """A socket on each address of the host, all on one port. One that the machine names but does
    not have, as ::1 without IPv6, is left out where there is another."""
    bound: list[socket.socket] = []
    why = ""
    addresses = addresses_of(host)
    for family, address in addresses:
        place = (address[0], port, *address[2:])
        try:
            sock = bind_one(family, place, shared=shared, alone=len(addresses) == 1)
        except OSError as error:
            why = error.strerror or str(error)
            if error.errno in NOT_HERE:
                continue
            close_all(bound)
            raise CannotBind(f"{host}:{port}", why) from None
        bound.append(sock)
        port = sock.getsockname()[1]
    if not bound:
        raise CannotBind(f"{host}:{port}", why)
    return bound


def bind_one(
    family: socket.AddressFamily, place: tuple[Any, ...], *, shared: bool, alone: bool
) -> socket.socket:
    """A socket on one address; one beside others must not take their IPv4 clients, too."""
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if family == socket.AF_INET6 and not alone:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.bind(place)
    except OSError:
        sock.close()
        raise
    return sock


def close_all(bound: Iterable[socket.socket]) -> None:
    """Give the addresses back."""
    for sock in bound:
        sock.close()


def bind_unix(path: str, mode: int = 0o666) -> socket.socket:
    """A unix socket; one that a dead process left behind is replaced."""
    remove_stale(Path(path))
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.bind(path)
        Path(path).chmod(mode)  # before it listens, so that nobody comes in between
    except OSError as error:
        sock.close()
        raise CannotBind(path, error.strerror or error) from None
    return sock


def remove_stale(path: Path) -> None:
    """Delete a socket file that no one listens on; anything else stays and binding will fail."""
    try:
        if not stat.S_ISSOCK(path.stat().st_mode):
            return
    except OSError:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(os.fspath(path))
        except ConnectionRefusedError:
            path.unlink(missing_ok=True)
        except OSError:
            return


def scope_address(sock: socket.socket) -> Address:
    """What scopes say about the server; None when it differs by connection."""
    name = sock.getsockname()
    if sock.family == socket.AF_UNIX:
        return (os.fsdecode(name), None)
    if name[0] in EVERYWHERE:
        return None
    return (name[0], name[1])


def is_tcp(sock: socket.socket) -> bool:
    """Whether TCP's own options make sense."""
    return sock.family in (socket.AF_INET, socket.AF_INET6)


def describe(sock: socket.socket, *, secure: bool) -> str:
    """The address as people write it."""
    if sock.family == socket.AF_UNIX:
        return f"unix:{os.fsdecode(sock.getsockname())}"
    host, port = sock.getsockname()[:2]
    scheme = "https" if secure else "http"
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"
