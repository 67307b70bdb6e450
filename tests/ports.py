"""Addresses that a server has, loses and gets back, whatever other tests open meanwhile."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def kept_port() -> Iterator[int]:
    """A port of this machine that the system gives to nobody else until the block ends.

    It is bound and never listens: a server that may share an address, as ours do, can have it.
    """
    with socket.socket() as kept:
        kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        kept.bind(("127.0.0.1", 0))
        yield kept.getsockname()[1]
