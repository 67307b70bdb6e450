"""What can be wrong with the database, as classes whose docstring is the sentence people read."""

import os
from collections.abc import Callable
from pathlib import Path

from rookery.errors import Complaint, Fault


class Problem(Fault, Complaint):
    """Something is wrong with the database."""


# What must be on the disk before anybody is told that it is there.


def sync(path: Path) -> None:
    """A file's bytes, or a folder's names: a name is safe only once its folder is."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# Moments at which a test may kill or stop the process; nothing outside a test can switch them on.
#
# There is no variable and no flag: a test starts its own script, which sets the hook before it
# calls our code.

_hooks: list[Callable[[str], None]] = []


def reached(moment: str) -> None:
    for hook in _hooks:
        hook(moment)


def set_hook(hook: Callable[[str], None]) -> None:
    _hooks[:] = [hook]
