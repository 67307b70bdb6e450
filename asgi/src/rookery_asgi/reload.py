"""Notices that Python files have changed, by their times of change."""

from collections.abc import Sequence
from pathlib import Path

SKIPPED = frozenset({".git", ".venv", "venv", "node_modules", "__pycache__"})


def times(folders: Sequence[Path]) -> dict[Path, float]:
    """When each Python file was last written."""
    found: dict[Path, float] = {}
    for folder in folders:
        for path in folder.rglob("*.py"):
            if SKIPPED.isdisjoint(path.relative_to(folder).parts):
                try:
                    found[path] = path.stat().st_mtime
                except OSError:
                    continue
    return found


class Changes:
    """True once after each change."""

    def __init__(self, folders: Sequence[str]) -> None:
        """Without folders the present one is watched."""
        self._folders = [Path(folder) for folder in folders or (".",)]
        self._seen = times(self._folders)

    def __call__(self) -> bool:
        """Whether anything has changed since the last call that said so."""
        now = times(self._folders)
        changed = now != self._seen
        self._seen = now
        return changed
