"""What must be on the disk before anybody is told that it is there."""

import os
from pathlib import Path


def sync(path: Path) -> None:
    """A file's bytes, or a folder's names: a name is safe only once its folder is."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
