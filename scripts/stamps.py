"""Remembers which stages passed on this machine, and so need not run again before they change.

A stamp is a digest of all that a stage reads: its folders and files, the settings of Rookery in the
environment, the Python, and the machine.
It is written after the stage passed, below .cache, which is no part of the repository: where a run
begins with a fresh clone, as in CI, nothing is left out.
"""

import hashlib
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from scripts.programs import NO_APT

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".cache" / "passed"


@dataclass(frozen=True, slots=True)
class Stamp:
    """The inputs of a stage as they are now."""

    stage: str
    inputs: tuple[str, ...]
    digest: str
    folder: Path = FOLDER

    @property
    def _file(self) -> Path:
        return self.folder / self.stage

    def keep(self) -> None:
        """Remembers that the stage passed with these inputs."""
        self.folder.mkdir(parents=True, exist_ok=True)
        now = datetime.now(UTC)
        self._file.write_text(f"{self.digest} {now:%Y-%m-%d %H:%M} UTC\n")

    def forget(self) -> None:
        self._file.unlink(missing_ok=True)

    def why_passed(self) -> str:
        """Why the stage need not run again; empty if it must."""
        if not self._file.exists():
            return ""
        digest, _, when = self._file.read_text().strip().partition(" ")
        if digest != self.digest:
            return ""
        return f"left out: passed here {when}, unchanged since: {', '.join(self.inputs)}"


def read_stamp(stage: str, inputs: Sequence[str], root: Path = ROOT) -> Stamp | None:
    """The stamp of a stage whose inputs are these files and folders; none without git, which knows
    what is built and what is written by hand."""
    if absent := [each for each in inputs if not (root / each).exists()]:
        raise FileNotFoundError(f"{stage} reads {absent[0]}, which is not there")
    if not (root / ".git").exists() or shutil.which("git") is None:
        return None
    settings = sorted(each for each in os.environ.items() if is_setting(each[0]))
    machine = f"{sys.version}\n{platform.platform()}\n{sys.prefix}\n{settings}\n"
    seen = hashlib.sha256(machine.encode())
    for file in list_files(inputs, root):
        path = root / file
        content = path.read_bytes() if path.is_file() else b"gone"
        seen.update(f"{file}\n{os.access(path, os.X_OK)}\n{len(content)}\n".encode())
        seen.update(content)
    return Stamp(stage, tuple(inputs), seen.hexdigest(), root / ".cache" / "passed")


def is_setting(variable: str) -> bool:
    return variable.startswith("ROOKERY_") and variable != NO_APT


def list_files(inputs: Sequence[str], root: Path = ROOT) -> Iterator[str]:
    """The files below the inputs that git tracks, or would if they were added."""
    command = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--")
    listed = subprocess.run([*command, *inputs], cwd=root, capture_output=True, check=True)
    yield from sorted(set(filter(None, listed.stdout.decode().split("\0"))))
