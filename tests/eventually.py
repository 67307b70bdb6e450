"""Waits until another thread or task has done something."""

from collections.abc import Callable

import anyio


async def eventually(condition: Callable[[], bool], *, seconds: float = 60) -> None:
    """Returns as soon as the condition holds; fails after `seconds`."""
    with anyio.fail_after(seconds):
        while True:
            if condition():
                return
            await anyio.sleep(0.001)
