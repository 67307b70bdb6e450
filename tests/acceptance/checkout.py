"""A copy of the project as a newcomer has it: no environment, no caches, a path with a space."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.places import PROJECT

LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv*", ".cache", ".*_cache", ".hypothesis", "__pycache__", "node_modules", "*.so"
)


@dataclass(frozen=True, slots=True)
class Checkout:
    """The folder and a home of its own."""

    folder: Path
    home: Path

    @classmethod
    def make(cls, below: Path) -> "Checkout":
        folder, home = below / "a checkout", below / "a home"
        shutil.copytree(PROJECT, folder, ignore=LEFT_OUT)
        home.mkdir()
        return cls(folder, home)

    def environment(self, **more: str) -> dict[str, str]:
        ours = ("ROOKERY_", "PYTHONPATH")
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
        return inherited | {"HOME": str(self.home)} | more

    def rookery(self, *words: str, **more: str) -> "subprocess.CompletedProcess[str]":
        """Runs ./rookery to its end."""
        return subprocess.run(
            ["./rookery", *words],
            cwd=self.folder,
            env=self.environment(**more),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
