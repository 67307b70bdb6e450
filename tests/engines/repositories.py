"""Small git repositories with an engine in them, one for each way engines are built."""

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

TINY = (Path(__file__).parent / "tiny.c").read_text()
"""An engine of one file."""

OPENBENCH_MAKEFILE = """\
EXE = tiny
CC = cc
EVALFILE = none
all:
\t$(CC) -O1 -DEVALFILE='"$(EVALFILE)"' -o $(EXE) tiny.c
"""


@dataclass(frozen=True, slots=True)
class Repository:
    """A folder with history, by the address and commit that an order names."""

    url: str
    commit: str


def repository(folder: Path, files: Mapping[str, str]) -> Repository:
    """One commit with these files."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git(folder, "init", "--quiet")
    return Repository(str(folder), commit(folder))


def commit(folder: Path) -> str:
    """All that is in the folder, as a new commit."""
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "A version")
    return git(folder, "rev-parse", "HEAD")


def git(folder: Path, *words: str) -> str:
    person = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
    ended = subprocess.run(
        ("git", *person, *words), cwd=folder, check=True, capture_output=True, text=True
    )
    return ended.stdout.strip()


def openbench(folder: Path) -> Repository:
    return repository(folder, {"Makefile": OPENBENCH_MAKEFILE, "tiny.c": TINY})
