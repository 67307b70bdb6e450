"""Notices that Python files have changed: by the kernel's file events, or by looking."""

import contextlib
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

log = logging.getLogger("rookery_asgi")

SKIPPED = frozenset({".git", ".venv", "venv", "node_modules", "__pycache__"})
EVENTS_BYTES = 65536


def is_looked_at(folder: Path) -> bool:
    """Whether it is a folder that somebody edits files in."""
    return folder.name not in SKIPPED and folder.is_dir() and not folder.is_symlink()


def folders_below(top: Path) -> Iterator[tuple[Path, list[str]]]:
    """Each folder with the names of its files, but for those that nobody edits."""
    for path, folders, files in os.walk(top):
        folders[:] = [name for name in folders if name not in SKIPPED]
        yield Path(path), files


def times(tops: Sequence[Path]) -> dict[Path, float]:
    """When each Python file was last written."""
    found: dict[Path, float] = {}
    for top in tops:
        for folder, files in folders_below(top):
            for name in files:
                if name.endswith(".py"):
                    with contextlib.suppress(OSError):
                        found[folder / name] = (folder / name).stat().st_mtime
    return found


class Changes:
    """True once after each change. The times of change decide; `stirred` says when to look."""

    def __init__(self, tops: Sequence[str], stirred: Callable[[], bool] = lambda: True) -> None:
        """Without folders the present one is looked at."""
        self._tops = [Path(top) for top in tops or (".",)]
        self._stirred = stirred
        self._seen = times(self._tops)

    def __call__(self) -> bool:
        """Whether anything has changed since the last call that said so."""
        if not self._stirred():
            return False
        now = times(self._tops)
        changed = now != self._seen
        self._seen = now
        return changed


class Events:
    """Whether the kernel has told of a change in the folders or below."""

    def __init__(self, tops: Sequence[str]) -> None:
        """Raises OSError where the system watches no more folders."""
        from rookery_asgi import _core

        self._watch_folder = _core.watch_folder
        self._tops = [Path(top) for top in tops or (".",)]
        self._fd = _core.watch_open()
        try:
            self._watch()
        except OSError:
            os.close(self._fd)
            raise

    def __call__(self) -> bool:
        """Takes what was told; folders that have come are watched from now on."""
        told = False
        with contextlib.suppress(BlockingIOError):
            while os.read(self._fd, EVENTS_BYTES):
                told = True
        if told:
            self._watch()
        return told

    def _watch(self) -> None:
        waiting = list(self._tops)
        while waiting:
            folder = waiting.pop()
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                self._watch_folder(self._fd, folder)  # first, so that none that comes is missed
                waiting += [one for one in folder.iterdir() if is_looked_at(one)]


def watch(tops: Sequence[str], *, poll: bool) -> Changes:
    """By file events, unless polling is wanted or nothing else can be had."""
    if poll:
        return Changes(tops)
    try:
        return Changes(tops, Events(tops))
    except OSError as error:
        log.warning("no file events (%s): looking at every file instead", error)
        return Changes(tops)
