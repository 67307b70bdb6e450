"""Submodules: which ones a commit has, and how their files get into its archive.

Each is a repository whose address the author of a commit chose, so that it is looked at as any
other, and fetched without saying who we are unless it is the source of an engine itself. What can't
be had is left out and told: much is built without it.
"""

import copy
import re
import shutil
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from rookery.clock import Clock
from rookery.core.engine import source_address
from rookery.outside.git import Git
from rookery.service.sources.commits import CannotAsk

DEEPEST = 5
MOST_MODULES = 50
MOST_SECONDS = 300.0
_LINK = re.compile(r"160000 commit ([0-9a-f]{40,64})\t(.+)", re.ASCII | re.DOTALL)
_WANTED = r"^submodule\..*\.(path|url)$"


@dataclass(frozen=True, slots=True)
class Module:
    """A commit of another repository that belongs at a path of this one."""

    path: str
    url: str
    commit: str


class Packing(Protocol):
    """Fetches a commit and packs its files below a folder of the archive."""

    def pack(
        self, git: Git, repository: str, commit: str, top: str, into: Path
    ) -> tuple[Module, ...]:
        """The submodules that the commit has; raises CannotAsk."""
        ...


def modules_of(git: Git, mirror: Path, commit: str) -> tuple[Module, ...]:
    """The submodules of a commit that was fetched; the address of one may be empty."""
    listed = git.run("ls-tree", "-r", "-z", commit, "--", folder=mirror).split("\0")
    links = [found for line in listed if (found := _LINK.fullmatch(line))]
    urls = _urls(git, mirror, commit) if links else {}
    return tuple(Module(link[2], urls.get(link[2], ""), link[1]) for link in links)


def _urls(git: Git, mirror: Path, commit: str) -> dict[str, str]:
    """The addresses of submodules by their paths."""
    words = ("config", "-z", "--blob", f"{commit}:.gitmodules", "--get-regexp", _WANTED)
    try:
        said = git.run(*words, folder=mirror)
    except CannotAsk:
        return {}
    values = dict(entry.partition("\n")[::2] for entry in said.split("\0") if entry)
    return {
        path: values.get(f"{key.removesuffix('.path')}.url", "")
        for key, path in values.items()
        if key.endswith(".path")
    }


def address_of(url: str, parent: str) -> str:
    """Where a submodule lies, in the one form of addresses; `../x` is beside its parent's own."""
    if not url.startswith(("./", "../")):
        return source_address(url)
    base = parent.rstrip("/")
    while url.startswith(("./", "../")):
        step, _, url = url.partition("/")
        base = base.rpartition("/")[0] if step == ".." else base
    parts = urlsplit(base)
    if not parts.scheme or not (parts.netloc or parts.scheme == "file"):
        raise CannotAsk("its address leads nowhere")
    return source_address(f"{base}/{url}")


@dataclass(slots=True)
class Grafting:
    """Puts the submodules of one archive in their places; made for one archive, thrown away."""

    packing: Packing
    git: Git
    known: frozenset[str]
    """Repositories for which the server may show who it is."""
    clock: Clock
    room: int
    """Bytes that all of them together may take, unpacked."""
    modules: int = MOST_MODULES
    missing: list[str] = field(default_factory=list)
    """What was left out, and why."""
    _until: float = field(init=False)

    def __post_init__(self) -> None:
        self._until = self.clock.seconds() + MOST_SECONDS

    def graft(
        self, archive: Path, repository: str, top: str, modules: tuple[Module, ...], depth: int = 1
    ) -> None:
        for module in modules:
            place = f"{top}/{module.path}"
            try:
                self._check(module, depth)
                address = address_of(module.url, repository)
                inner = self._one(archive, address, module.commit, place)
            except CannotAsk as why:
                self.missing.append(f"{place.partition('/')[2]} ({why})")
            else:
                self.graft(archive, address, place, inner, depth + 1)

    def _one(self, archive: Path, address: str, commit: str, place: str) -> tuple[Module, ...]:
        git = self.git if address in self.known else self.git.anonymous()
        piece = archive.with_suffix(".piece")
        try:
            inner = self.packing.pack(git, address, commit, place, piece)
            self.room -= _unpacked(piece)
            if self.room < 0:
                raise CannotAsk("it is too large")
            _append(piece, archive)
        finally:
            piece.unlink(missing_ok=True)
        return inner

    def _check(self, module: Module, depth: int) -> None:
        self.modules -= 1
        if not module.url:
            raise CannotAsk("nothing says where it lies")
        if {"", ".", "..", ".git"}.intersection(module.path.lower().split("/")):
            raise CannotAsk("its place is none")
        if depth > DEEPEST:
            raise CannotAsk(f"it is nested more than {DEEPEST} deep")
        if self.modules < 0:
            raise CannotAsk(f"there are more than {MOST_MODULES}")
        if self.clock.seconds() > self._until:
            raise CannotAsk("fetching the others took too long")


def _unpacked(piece: Path) -> int:
    with zipfile.ZipFile(piece) as pack:
        return sum(info.file_size for info in pack.infolist())


def _append(piece: Path, archive: Path) -> None:
    with zipfile.ZipFile(piece) as source, zipfile.ZipFile(archive, "a") as target:
        for info in _new(source, target):
            with source.open(info) as found, target.open(copy.copy(info), "w") as put:
                shutil.copyfileobj(found, put)


def _new(source: zipfile.ZipFile, target: zipfile.ZipFile) -> Iterator[zipfile.ZipInfo]:
    """The folder of a submodule is there already, and empty."""
    known = set(target.namelist())
    return (info for info in source.infolist() if info.filename not in known)
