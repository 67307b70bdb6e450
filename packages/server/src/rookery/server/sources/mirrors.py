"""Keeps bare clones of repositories, with only the requested commits, and zip archives of these."""

import copy
import hashlib
import re
import shutil
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Protocol
from urllib.parse import urlsplit

from rookery.core.clock import Clock
from rookery.core.model.engine import source_address
from rookery.server.sources.commits import Archive, SourceError
from rookery.server.sources.git import Git

# Submodules: which ones a commit has, and how their files get into its archive.
#
# The author of a commit chooses their addresses, so these are checked like any other. They are
# fetched without credentials unless they are granted. A submodule that can't be fetched is left out
# and listed as missing, because many engines are built without theirs.

DEEPEST = 5
MOST_MODULES = 50
MOST_SECONDS = 300.0
_LINK = re.compile(r"160000 commit ([0-9a-f]{40,64})\t(.+)", re.ASCII | re.DOTALL)
_WANTED = r"^submodule\..*\.(path|url)$"


@dataclass(frozen=True, slots=True)
class Submodule:
    """A submodule of a commit: its path, the address of its repository and its commit."""

    path: str
    url: str
    commit: str


class CommitPacker(Protocol):
    """Fetches a commit and packs its files into a zip, below the folder `top`."""

    def pack(
        self, git: Git, repository: str, commit: str, top: str, into: Path
    ) -> tuple[Submodule, ...]:
        """Return the submodules of the commit; raise SourceError."""
        ...


def list_submodules(git: Git, mirror: Path, commit: str) -> tuple[Submodule, ...]:
    """Return the submodules of a fetched commit; an address is empty where .gitmodules has none."""
    listed = git.run("ls-tree", "-r", "-z", commit, "--", folder=mirror).split("\0")
    links = [found for line in listed if (found := _LINK.fullmatch(line))]
    urls = _read_urls(git, mirror, commit) if links else {}
    return tuple(Submodule(link[2], urls.get(link[2], ""), link[1]) for link in links)


def _read_urls(git: Git, mirror: Path, commit: str) -> dict[str, str]:
    """Return the addresses of submodules by path."""
    words = ("config", "-z", "--blob", f"{commit}:.gitmodules", "--get-regexp", _WANTED)
    try:
        said = git.run(*words, folder=mirror)
    except SourceError:
        return {}
    values = dict(entry.partition("\n")[::2] for entry in said.split("\0") if entry)
    return {
        path: values.get(f"{key.removesuffix('.path')}.url", "")
        for key, path in values.items()
        if key.endswith(".path")
    }


def resolve_address(url: str, parent: str) -> str:
    """Return the normal form of a submodule's address; `../x` is relative to its parent's
    address."""
    if not url.startswith(("./", "../")):
        return source_address(url)
    base = parent.rstrip("/")
    while url.startswith(("./", "../")):
        step, _, url = url.partition("/")
        base = base.rpartition("/")[0] if step == ".." else base
    parts = urlsplit(base)
    if not parts.scheme or not (parts.netloc or parts.scheme == "file"):
        raise SourceError("its address leads nowhere")
    return source_address(f"{base}/{url}")


@dataclass(slots=True)
class SubmodulePacker:
    """Adds the submodules of a commit to its archive, within limits; one object per archive."""

    packing: CommitPacker
    git: Git
    known: frozenset[str]
    """The repositories for which the server may use its credentials."""
    clock: Clock
    bytes_left: int
    """The unpacked bytes that further submodules may still have."""
    modules: int = MOST_MODULES
    missing: list[str] = field(default_factory=list)
    """The submodules that were left out, and why."""
    _until: float = field(init=False)

    def __post_init__(self) -> None:
        self._until = self.clock.seconds() + MOST_SECONDS

    def add_all(
        self,
        archive: Path,
        repository: str,
        top: str,
        modules: tuple[Submodule, ...],
        depth: int = 1,
    ) -> None:
        """Add these submodules and their own submodules; note the ones that can't be fetched."""
        for module in modules:
            place = f"{top}/{module.path}"
            try:
                self._check(module, depth)
                address = resolve_address(module.url, repository)
                inner = self._add_one(archive, address, module.commit, place)
            except SourceError as why:
                self.missing.append(f"{place.partition('/')[2]} ({why})")
            else:
                self.add_all(archive, address, place, inner, depth + 1)

    def _add_one(
        self, archive: Path, address: str, commit: str, place: str
    ) -> tuple[Submodule, ...]:
        git = self.git if address in self.known else self.git.without_credentials()
        piece = archive.with_suffix(".piece")
        try:
            inner = self.packing.pack(git, address, commit, place, piece)
            self.bytes_left -= _unpacked_size(piece)
            if self.bytes_left < 0:
                raise SourceError("it is too large")
            _append(piece, archive)
        finally:
            piece.unlink(missing_ok=True)
        return inner

    def _check(self, module: Submodule, depth: int) -> None:
        self.modules -= 1
        if not module.url:
            raise SourceError("its address is missing")
        if {"", ".", "..", ".git"}.intersection(module.path.lower().split("/")):
            raise SourceError("its path is not allowed")
        if depth > DEEPEST:
            raise SourceError(f"it is nested more than {DEEPEST} deep")
        if self.modules < 0:
            raise SourceError(f"there are more than {MOST_MODULES}")
        if self.clock.seconds() > self._until:
            raise SourceError("fetching the others took too long")


def _unpacked_size(piece: Path) -> int:
    with zipfile.ZipFile(piece) as pack:
        return sum(info.file_size for info in pack.infolist())


def _append(piece: Path, archive: Path) -> None:
    with zipfile.ZipFile(piece) as source, zipfile.ZipFile(archive, "a") as target:
        for info in _list_new_entries(source, target):
            with source.open(info) as found, target.open(copy.copy(info), "w") as put:
                shutil.copyfileobj(found, put)


def _list_new_entries(
    source: zipfile.ZipFile, target: zipfile.ZipFile
) -> Iterator[zipfile.ZipInfo]:
    """Return the entries that the archive lacks; the empty folder of a submodule is in it
    already."""
    known = set(target.namelist())
    return (info for info in source.infolist() if info.filename not in known)


ARCHIVES = "packs"
"""The folder of archives within a mirror."""


@dataclass(frozen=True, slots=True)
class Mirrors:
    """Mirrors in subfolders of a folder; with a lock for each, so that one thread fetches at a
    time."""

    folder: Path
    git: Git
    _locks: defaultdict[Path, Lock] = field(default_factory=lambda: defaultdict(Lock))

    def lock_folder(self, folder: Path) -> Lock:
        """Return the lock for a clone that is fetched into."""
        return self._locks[folder]

    def read_message(self, git: Git, repository: str, commit: str) -> str:
        """Return the message of a commit; raise SourceError."""
        mirror = self._mirror_folder(git, repository)
        with self._locks[mirror]:
            self._fetch(git, repository, commit, mirror)
            return git.run("log", "-1", "--format=%B", commit, "--", folder=mirror).strip()

    def archive(
        self, git: Git, repository: str, commit: str, top: str, known: frozenset[str], clock: Clock
    ) -> Archive:
        """Return a zip of the commit's files below the folder `top`, made once; raise SourceError.

        With submodules there is an archive for each set of known repositories: which submodules
        can be fetched depends on it.
        """
        own = git if repository in known else git.without_credentials()
        packs = self._mirror_folder(own, repository) / ARCHIVES
        plain, complete = packs / f"{commit}.zip", packs / f"{commit}-{_digest_access(known)}.zip"
        for found in (plain, complete):
            if found.is_file():
                return _use_archive(found)
        unfinished = complete.with_suffix(".part")
        modules = self.pack(own, repository, commit, top, unfinished)
        if not modules:
            unfinished.rename(plain)
            return _use_archive(plain)
        packer = SubmodulePacker(self, git, known, clock, git.largest_bytes)
        packer.add_all(unfinished, repository, top, modules)
        _missing_list(complete).write_text("\n".join(packer.missing))
        unfinished.rename(complete)
        return _use_archive(complete)

    def pack(
        self, git: Git, repository: str, commit: str, top: str, into: Path
    ) -> tuple[Submodule, ...]:
        """Pack the files of a commit below the folder `top`; return its submodules."""
        mirror = self._mirror_folder(git, repository)
        with self._locks[mirror]:
            self._fetch(git, repository, commit, mirror)
            into.parent.mkdir(exist_ok=True)
            words = ("archive", "--format=zip", f"--prefix={top}/", f"--output={into}")
            git.run(*words, commit, folder=mirror)
            return list_submodules(git, mirror, commit)

    def forget(self, days: int, now: float) -> None:
        """Remove archives that were not used for `days` days, and mirrors without archives."""
        oldest = now - days * 86_400
        for mirror in [path for path in self.folder.glob("*") if path.is_dir()]:
            with self._locks[mirror]:
                packs = list((mirror / ARCHIVES).glob("*"))
                for pack in [pack for pack in packs if pack.stat().st_mtime < oldest]:
                    pack.unlink(missing_ok=True)
                    packs.remove(pack)
                if not packs and mirror.stat().st_mtime < oldest:
                    shutil.rmtree(mirror, ignore_errors=True)

    def _fetch(self, git: Git, repository: str, commit: str, mirror: Path) -> None:
        """Fetch this commit without its history."""
        asked = git.pin_host(repository)
        if not (mirror / "HEAD").is_file():
            shutil.rmtree(mirror, ignore_errors=True)
            mirror.mkdir(parents=True)
            git.run("init", "--quiet", "--bare", folder=mirror)
        words = ("fetch", "--quiet", "--no-tags", "--depth=1")
        asked.run(*words, "--", repository, commit, folder=mirror)

    def _mirror_folder(self, git: Git, repository: str) -> Path:
        """Return the folder of a mirror; commits fetched with credentials are separate from those
        fetched without."""
        name = f"{'known' if git.known else 'open'} {repository}"
        return self.folder / hashlib.sha256(name.encode()).hexdigest()[:32]


def _use_archive(archive: Path) -> Archive:
    """Mark an archive as used, so that it is not removed."""
    archive.touch()
    words = _missing_list(archive)
    if not words.is_file():
        return Archive(archive)
    words.touch()
    return Archive(archive, tuple(words.read_text().splitlines()))


def _missing_list(archive: Path) -> Path:
    """Return the file beside an archive that lists its missing submodules."""
    return archive.with_suffix(".missing")


def _digest_access(known: frozenset[str]) -> str:
    return hashlib.sha256("\n".join(sorted(known)).encode()).hexdigest()[:16]
