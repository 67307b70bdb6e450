"""Moments at which a test may kill or stop the process; nothing outside a test can switch them on.

There is no variable and no flag: a test starts its own script, which sets the hook before it calls
our code.
"""

from collections.abc import Callable

_hooks: list[Callable[[str], None]] = []


def reached(moment: str) -> None:
    for hook in _hooks:
        hook(moment)


def set_hook(hook: Callable[[str], None]) -> None:
    _hooks[:] = [hook]
