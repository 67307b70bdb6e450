"""Bare copies of repositories, each with just the commits that somebody asked for."""

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

from rookery.clock import Clock
from rookery.model.engine import source_address
from rookery.sources.commits import Archive, CannotAsk
from rookery.sources.git import Git

# Submodules: which ones a commit has, and how their files get into its archive.
#
# Each is a repository whose address the author of a commit chose, so that it is looked at as any
# other, and fetched without saying who we are unless it is the source of an engine itself. What
# can't be had is left out and told: much is built without it.

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


ARCHIVES = "packs"
"""Those of former times lie elsewhere: they have no submodules."""


@dataclass(frozen=True, slots=True)
class Mirrors:
    """Folders below one. Those who want the same repository take turns: one fetch at a time."""

    folder: Path
    git: Git
    _turns: defaultdict[Path, Lock] = field(default_factory=lambda: defaultdict(Lock))

    def message(self, git: Git, repository: str, commit: str) -> str:
        """A commit's own words; raises CannotAsk."""
        mirror = self._place(git, repository)
        with self._turns[mirror]:
            self._fetch(git, repository, commit, mirror)
            return git.run("log", "-1", "--format=%B", commit, "--", folder=mirror).strip()

    def archive(
        self, git: Git, repository: str, commit: str, top: str, known: frozenset[str], clock: Clock
    ) -> Archive:
        """A zip of the commit's files below the folder `top`, made once; raises CannotAsk.

        With submodules it is made once for all to whom the same repositories are known: what one
        may have another may not.
        """
        own = git if repository in known else git.anonymous()
        packs = self._place(own, repository) / ARCHIVES
        plain, grafted = packs / f"{commit}.zip", packs / f"{commit}-{_mark(known)}.zip"
        for found in (plain, grafted):
            if found.is_file():
                return _kept(found)
        unfinished = grafted.with_suffix(".part")
        modules = self.pack(own, repository, commit, top, unfinished)
        if not modules:
            unfinished.rename(plain)
            return _kept(plain)
        grafting = Grafting(self, git, known, clock, git.largest_bytes)
        grafting.graft(unfinished, repository, top, modules)
        _words(grafted).write_text("\n".join(grafting.missing))
        unfinished.rename(grafted)
        return _kept(grafted)

    def pack(
        self, git: Git, repository: str, commit: str, top: str, into: Path
    ) -> tuple[Module, ...]:
        """Packs the files of a commit below a folder; gives the submodules that it has."""
        mirror = self._place(git, repository)
        with self._turns[mirror]:
            self._fetch(git, repository, commit, mirror)
            into.parent.mkdir(exist_ok=True)
            words = ("archive", "--format=zip", f"--prefix={top}/", f"--output={into}")
            git.run(*words, commit, folder=mirror)
            return modules_of(git, mirror, commit)

    def forget(self, days: int, now: float) -> None:
        """Archives that were not asked for lately, and repositories without any."""
        oldest = now - days * 86_400
        for mirror in [path for path in self.folder.glob("*") if path.is_dir()]:
            with self._turns[mirror]:
                packs = list((mirror / ARCHIVES).glob("*"))
                for pack in [pack for pack in packs if pack.stat().st_mtime < oldest]:
                    pack.unlink(missing_ok=True)
                    packs.remove(pack)
                if not packs and mirror.stat().st_mtime < oldest:
                    shutil.rmtree(mirror, ignore_errors=True)

    def _fetch(self, git: Git, repository: str, commit: str, mirror: Path) -> None:
        """Just this commit, without what came before it."""
        asked = git.asking(repository)
        if not (mirror / "HEAD").is_file():
            shutil.rmtree(mirror, ignore_errors=True)
            mirror.mkdir(parents=True)
            git.run("init", "--quiet", "--bare", folder=mirror)
        words = ("fetch", "--quiet", "--no-tags", "--depth=1")
        asked.run(*words, "--", repository, commit, folder=mirror)

    def _place(self, git: Git, repository: str) -> Path:
        """What the server was let see because of who it is lies apart from what anybody may."""
        name = f"{'known' if git.known else 'open'} {repository}"
        return self.folder / hashlib.sha256(name.encode()).hexdigest()[:32]


def _kept(archive: Path) -> Archive:
    """Somebody wants it, so that it stays."""
    archive.touch()
    words = _words(archive)
    if not words.is_file():
        return Archive(archive)
    words.touch()
    return Archive(archive, tuple(words.read_text().splitlines()))


def _words(archive: Path) -> Path:
    """Where it is written what an archive lacks."""
    return archive.with_suffix(".missing")


def _mark(known: frozenset[str]) -> str:
    return hashlib.sha256("\n".join(sorted(known)).encode()).hexdigest()[:16]
