"""Ports that a server can release and reuse while other tests open theirs."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def kept_port() -> Iterator[int]:
    """A port of this machine that the system assigns to no other process until the block ends.

    It is bound but never listens, so a server that shares its address, as ours do, can use it.
    """
    with socket.socket() as kept:
        kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        kept.bind(("127.0.0.1", 0))
        yield kept.getsockname()[1]
