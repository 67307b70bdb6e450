"""The inner side of the one way out: a port of the sandbox's own network that leads to a socket.

The namespace has no network but itself. Whoever connects to the port is connected to the worker's
gateway, which decides where to; so nothing inside can reach what the gateway does not.
"""

import contextlib
import os
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import socket

PORT = 3128
"""Free, because nobody else is in the namespace."""
CHUNK_BYTES = 65_536
SET_FLAGS, UP_AND_RUNNING = 0x8914, 0x41


def load() -> None:
    """Import what is needed later, while Python's library can be seen."""
    import fcntl
    import socket
    import struct
    import threading

    del fcntl, socket, struct, threading


def keep_open(path: str) -> None:
    """Lead from the port to the socket, by a process that ends with all the others."""
    import socket

    _raise_loopback()
    door = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    door.bind(("127.0.0.1", PORT))
    door.listen(64)
    if os.fork() == 0:
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.setsid()
        _lead(door, path)
    door.close()


def _raise_loopback() -> None:
    import fcntl
    import socket
    import struct

    # Where bubblewrap made the namespace it is up already, and not ours to change.
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_one:
        fcntl.ioctl(any_one, SET_FLAGS, struct.pack("16sh", b"lo", UP_AND_RUNNING))


def _lead(door: "socket.socket", path: str) -> None:
    import socket
    import threading

    while True:
        caller, _ = door.accept()
        outside = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            outside.connect(path)
        except OSError:
            caller.close()
            continue
        for source, target in ((caller, outside), (outside, caller)):
            threading.Thread(target=_carry, args=(source, target), daemon=True).start()


def _carry(source: "socket.socket", target: "socket.socket") -> None:
    import socket

    with contextlib.suppress(OSError):
        while data := source.recv(CHUNK_BYTES):
            target.sendall(data)
    for one, way in ((target, socket.SHUT_WR), (source, socket.SHUT_RD)):
        with contextlib.suppress(OSError):
            one.shutdown(way)
