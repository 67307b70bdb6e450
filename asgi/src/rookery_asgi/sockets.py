"""Listening sockets: TCP, unix and inherited ones."""

import contextlib
import os
import socket
import stat
from pathlib import Path

from rookery_asgi.errors import CannotBind
from rookery_asgi.options import Options

Address = tuple[str, int | None] | None
EVERYWHERE = frozenset({"0.0.0.0", "::"})  # noqa: S104 - compared with, not bound to


def bind(options: Options, *, shared: bool = False) -> socket.socket:
    """A bound socket that does not listen yet; `shared` lets several processes bind the address."""
    if options.fd is not None:
        return inherited(options.fd)
    if options.uds is not None:
        return bind_unix(options.uds)
    return bind_tcp(options.host, options.port, shared=shared)


def inherited(fd: int) -> socket.socket:
    """The socket that another process opened for us."""
    try:
        return socket.socket(fileno=fd)
    except OSError as error:
        raise CannotBind(f"descriptor {fd} is no socket", error.strerror or error) from None


def bind_tcp(host: str, port: int, *, shared: bool) -> socket.socket:
    """The first address of the host that can be bound."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError as error:
        raise CannotBind(host, error.strerror or error) from None
    sock = socket.socket(family, kind, protocol)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if shared:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        sock.bind(address)
    except OSError as error:
        sock.close()
        raise CannotBind(f"{host}:{port}", error.strerror or error) from None
    return sock


def bind_unix(path: str) -> socket.socket:
    """A unix socket; one that a dead process left behind is replaced."""
    remove_stale(Path(path))
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.bind(path)
        # like other servers: the folder's permissions say who may connect
        Path(path).chmod(0o666)
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


def remove_unix(sock: socket.socket, path: str | None) -> None:
    """Delete our own socket file at the end."""
    if path is not None and sock.family == socket.AF_UNIX:
        with contextlib.suppress(OSError):
            Path(path).unlink()


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
