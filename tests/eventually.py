"""Waits for what another thread or task is about to bring about."""

from collections.abc import Callable

import anyio


async def eventually(condition: Callable[[], bool], *, seconds: float = 60) -> None:
    """Return as soon as the condition holds; fail when it never does."""
    with anyio.fail_after(seconds):
        while True:
            if condition():
                return
            await anyio.sleep(0.001)
