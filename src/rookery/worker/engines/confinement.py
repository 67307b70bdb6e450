"""Reads and writes within a stranger's tree of files, whose links may lead anywhere.

What runs inside a build is kept in by the sandbox. The worker's own steps around it are not, so
they never follow a link out of the tree.
"""

import os
import shutil
from pathlib import Path

LARGEST_TEXT = 2**20


class LedOut(Exception):
    """a link leads out of the source"""


def is_within(path: Path, tree: Path) -> bool:
    """Whether a path, with all its links followed, ends in the tree."""
    try:
        return path.resolve(strict=True).is_relative_to(tree.resolve(strict=True))
    except (OSError, RuntimeError):
        return False


def is_plain_file(path: Path, tree: Path) -> bool:
    return is_within(path, tree) and path.is_file()


def text_of(path: Path, tree: Path) -> str:
    """Nothing for what is no ordinary file of the tree, or too large to be text."""
    if not is_plain_file(path, tree) or path.stat().st_size > LARGEST_TEXT:
        return ""
    return path.read_text("utf-8", "replace")


def put(source: Path, folder: Path, name: str, tree: Path) -> Path:
    """Copy a file of ours into a folder of the tree; raises LedOut when that lies elsewhere."""
    if not is_within(folder, tree):
        raise LedOut
    target = folder / name
    # A link of that name would have its target written over.
    target.unlink(missing_ok=True)
    with source.open("rb") as read, os.fdopen(_new(target), "wb") as write:
        shutil.copyfileobj(read, write)
    return target


def _new(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
