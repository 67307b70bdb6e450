"""The folder where a worker keeps sources, nets and programs. Several workers may share it.

Entries appear complete, by a rename. A lock per entry prevents two workers from making the same
one. When the folder grows over its limit, the entries unused for longest are removed first.
"""

import asyncio
import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from rookery.core.boundary.offload import Threads

# A file lock between processes, and between machines that share a folder.

if sys.platform != "win32":
    import fcntl

PAUSE_SECONDS = 0.1


@contextlib.asynccontextmanager
async def locked_file(path: Path, threads: Threads) -> AsyncIterator[None]:
    """Hold a lock for the length of the block. The kernel releases it when the process dies."""
    file = await threads.io(_open, path)
    try:
        # Another process releases the lock, and no event of this loop could tell.
        while not await threads.io(_taken, file):  # noqa: ASYNC110
            await asyncio.sleep(PAUSE_SECONDS)
        yield
    finally:
        os.close(file)


def _open(path: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)


def _taken(file: int) -> bool:
    # There are no locks on Windows: two workers there must not share a cache.
    if sys.platform != "win32":
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


MOST_BYTES = 20 * 2**30
MOST_SCRATCH = 20 * 2**30
IN_USE_SECONDS = 12 * 3600.0
"""Entries used more recently than this may belong to a task that is being played."""

FOLDERS = ("sources", "nets", "programs", "builds")


@dataclass(frozen=True, slots=True)
class Cache:
    """The cache in a folder. Creating this value creates no files."""

    folder: Path
    threads: Threads
    most_bytes: int = MOST_BYTES

    def place(self, kind: str, name: str) -> Path:
        assert kind in FOLDERS
        return self.folder / kind / name

    @contextlib.asynccontextmanager
    async def locked(self, kind: str, name: str) -> AsyncIterator[None]:
        """Hold the lock of one entry, so that only one process makes it at a time."""
        async with locked_file(self.folder / "locks" / f"{kind}-{name}", self.threads):
            yield

    @contextlib.asynccontextmanager
    async def scratch(self) -> AsyncIterator[Path]:
        """Yield an empty folder on the cache's disk, removed at the end of the block."""
        folder = await self.threads.io(self._make_scratch)
        try:
            yield folder
        finally:
            await self.threads.io(remove, folder)

    def _make_scratch(self) -> Path:
        parent = self.folder / "scratch"
        parent.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(dir=parent))

    def keep(self, made: Path, kind: str, name: str) -> Path:
        """Move a finished file or folder to its place. Another worker may have put an equal one
        there."""
        place = self.place(kind, name)
        place.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            if place.is_dir() and made.is_dir():
                remove(place)
            made.replace(place)
        return place

    def tidy(self) -> tuple[Path, ...]:
        """Remove the entries unused for longest until the rest fits. Returns the removed ones."""
        entries = sorted(self._entries(), key=lambda entry: entry.used)
        too_much = sum(entry.size for entry in entries) - self.most_bytes
        gone = self._abandoned()
        for entry in entries:
            if too_much <= 0 or not self._is_old(entry.path):
                break
            remove(entry.path)
            too_much -= entry.size
            gone.append(entry.path)
        return tuple(gone)

    def _abandoned(self) -> list[Path]:
        """Remove the scratch folders of killed workers, and return them."""
        gone = [path for path in (self.folder / "scratch").glob("*") if self._is_old(path)]
        for path in gone:
            remove(path)
        return gone

    def _is_old(self, path: Path) -> bool:
        # Use the disk's own clock, because another machine may have set the other times.
        with tempfile.TemporaryFile(dir=self.folder) as file:
            now = os.fstat(file.fileno()).st_mtime
        return now - path.lstat().st_mtime >= IN_USE_SECONDS

    def _entries(self) -> "Iterator[_Entry]":
        for kind in FOLDERS:
            with contextlib.suppress(OSError):
                for path in (self.folder / kind).iterdir():
                    yield _Entry(path, path.lstat().st_mtime, size_of(path))


@dataclass(frozen=True, slots=True)
class _Entry:
    path: Path
    used: float
    size: int


def note_use(path: Path) -> None:
    """Note that an entry was used, so that it is not removed soon."""
    with contextlib.suppress(OSError):
        os.utime(path)


def size_of(path: Path) -> int:
    """Return the bytes of a file, or of everything in a folder."""
    if not path.is_dir() or path.is_symlink():
        return path.lstat().st_size
    total = 0
    for folder, _, names in os.walk(path):
        for name in names:
            with contextlib.suppress(OSError):
                total += Path(folder, name).lstat().st_size
    return total


def most_scratch(scratch: Path) -> int:
    """How many bytes a build may write: at most half of the free space."""
    return min(MOST_SCRATCH, shutil.disk_usage(scratch).free // 2)


def excess_of(scratch: Path, most_bytes: int) -> str:
    """Why a scratch folder is too large, as a sentence; empty if it is not."""
    return describe_size(most_bytes) if size_of(scratch) > most_bytes else ""


def describe_size(most_bytes: int) -> str:
    return f"more than {most_bytes / 2**30:.1f} GiB of disk"


def remove(path: Path) -> None:
    """Remove a file or folder, even if a build left folders that can't be entered."""
    if not path.is_dir() or path.is_symlink():
        path.unlink(missing_ok=True)
        return
    for folder, names, _ in os.walk(path):
        for name in names:
            with contextlib.suppress(OSError):
                inner = Path(folder, name)
                if not inner.is_symlink():
                    inner.chmod(0o700)
    shutil.rmtree(path, ignore_errors=True)


# Does work while a limit is checked from time to time, and stops it when that is exceeded.

T = TypeVar("T")
LOOK_SECONDS = 2.0


class Excess(Exception):
    """Work exceeds a limit. The text says which one."""


async def run_guarded(
    work: Coroutine[Any, Any, T],
    excess: Callable[[], str],
    threads: Threads,
    seconds: float = LOOK_SECONDS,
) -> T:
    """Do the work while `excess` checks in a thread whether it exceeds a limit. Raises Excess."""
    running = asyncio.create_task(work)
    try:
        while not (await asyncio.wait((running,), timeout=seconds))[0]:
            if why := await threads.io(excess):
                raise Excess(why)
        return running.result()
    finally:
        running.cancel()
        await asyncio.wait((running,))


# Reads and writes in a source tree from strangers, whose links may point anywhere.
#
# The sandbox confines what runs in a build. It does not confine the worker's own steps, so these
# never follow a link out of the tree.

LARGEST_TEXT = 2**20


class LinkLeavesTree(Exception):
    """A link leads out of the source tree."""


def is_within(path: Path, tree: Path) -> bool:
    """Whether a path, with all links resolved, is in the tree."""
    try:
        return path.resolve(strict=True).is_relative_to(tree.resolve(strict=True))
    except (OSError, RuntimeError):
        return False


def is_plain_file(path: Path, tree: Path) -> bool:
    return is_within(path, tree) and path.is_file()


def read_text(path: Path, tree: Path) -> str:
    """Return the text of a file; empty if it is not a regular file in the tree, or too large to be
    text."""
    if not is_plain_file(path, tree) or path.stat().st_size > LARGEST_TEXT:
        return ""
    return path.read_text("utf-8", "replace")


def copy_into_tree(source: Path, folder: Path, name: str, tree: Path) -> Path:
    """Copy one of the worker's files into a folder of the tree. Raises LinkLeavesTree if the folder
    is elsewhere."""
    if not is_within(folder, tree):
        raise LinkLeavesTree
    target = folder / name
    # If the name is a link, copying would overwrite its target.
    target.unlink(missing_ok=True)
    with source.open("rb") as read, os.fdopen(_new(target), "wb") as write:
        shutil.copyfileobj(read, write)
    return target


def _new(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
