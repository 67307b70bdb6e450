"""Identifies the build, since the version alone stays the same for many commits.

In a checkout the build is the commit that is checked out, read from git's files; elsewhere it is a
digest of the package's files, so that only equal installations have the same build.
"""

import hashlib
from functools import cache
from pathlib import Path

import rookery
from rookery.core import __version__

CORE = Path(__file__).resolve().parent
_CHARACTERS = 10
_NO_PART = frozenset({".pyc", ".pyo"})


@cache
def describe_version() -> str:
    """Return the version and the build, such as 0.1.0+g0123456789 (a commit) or 0.1.0+f0123456789
    (files). Read files, once."""
    commit = find_commit(CORE)
    digest = "" if commit else digest_files(*map(Path, sorted(set(rookery.__path__))))
    build = f"g{commit[:_CHARACTERS]}" if commit else f"f{digest[:_CHARACTERS]}"
    return f"{__version__}+{build}"


def find_commit(package: Path) -> str:
    """Return the commit of the checkout that contains the package `core`; empty if there is
    none."""
    root = package.parents[4]
    if package.parents[1].name != "src" or not (root / "packages").is_dir():
        return ""
    try:
        return _read_head(_find_git_folder(root / ".git"))
    except (OSError, ValueError):
        return ""


def _find_git_folder(place: Path) -> Path:
    """Return the git folder of a checkout; in a worktree, `.git` is a file that names it."""
    if place.is_dir():
        return place
    return place.parent / place.read_text().removeprefix("gitdir:").strip()


def _read_head(folder: Path) -> str:
    head = (folder / "HEAD").read_text().strip()
    if not head.startswith("ref:"):
        return head
    name = head.removeprefix("ref:").strip()
    shared = folder / "commondir"
    folders = (folder, folder / shared.read_text().strip()) if shared.is_file() else (folder,)
    for each in folders:
        if (each / name).is_file():
            return (each / name).read_text().strip()
        if (each / "packed-refs").is_file():
            for line in (each / "packed-refs").read_text().splitlines():
                if line.endswith(f" {name}"):
                    return line.split()[0]
    return ""


def digest_files(*folders: Path) -> str:
    """Return a digest of the names and contents of all files in the folders."""
    found = hashlib.blake2b(digest_size=16)
    for folder, file in ((each, file) for each in folders for file in sorted(each.rglob("*"))):
        if file.is_file() and file.suffix not in _NO_PART:
            found.update(file.relative_to(folder).as_posix().encode() + b"\0")
            found.update(hashlib.blake2b(file.read_bytes()).digest())
    return found.hexdigest()
