"""A key that stays in the data folder: a copy of the database alone is of no use with it."""

import contextlib
import os
import secrets
from pathlib import Path

LENGTH = 32


def key_in(path: Path) -> bytes:
    """The key of that file, made at the first call; it blocks."""
    with contextlib.suppress(FileExistsError):
        path.parent.mkdir(parents=True, exist_ok=True)
        _make(path)
    return path.read_bytes()


def _make(path: Path) -> None:
    """Whole or not there at all, also after a crash."""
    if path.exists():
        raise FileExistsError
    unfinished = path.with_suffix(f".{os.getpid()}")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.write(descriptor, secrets.token_bytes(LENGTH))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    unfinished.rename(path)
