"""The event loop: uvloop's where installed, else asyncio's, able to start tasks at once."""

import asyncio
import functools
import sys
from typing import cast

from rookery_asgi.errors import BadOption

LoopType = type[asyncio.AbstractEventLoop]


def base_loop(wanted: str) -> LoopType:
    """The class behind "auto", "uvloop" or "asyncio"."""
    if wanted == "asyncio":
        return asyncio.SelectorEventLoop
    try:
        import uvloop
    except ImportError:
        if wanted == "uvloop":
            raise BadOption("uvloop is not installed") from None
        return asyncio.SelectorEventLoop
    return cast("LoopType", uvloop.Loop)


@functools.cache
def loop_type(wanted: str) -> LoopType:
    """A class of our own where Python can't start tasks eagerly by itself (before 3.12)."""
    base = base_loop(wanted)
    if sys.version_info >= (3, 12):
        return base
    from rookery_asgi import _core  # the Mongoose adapter takes a loop as it is, without the core

    return _core.adopt_loop(cast("LoopType", type("Loop", (base,), {})))


def new_loop(wanted: str = "auto") -> asyncio.AbstractEventLoop:
    """A new loop of that kind."""
    return loop_type(wanted)()
