"""Bare copies of repositories, each with just the commits that somebody asked for."""

import hashlib
import shutil
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from rookery.clock import Clock
from rookery.outside.git import Git
from rookery.outside.submodules import Grafting, Module, modules_of
from rookery.service.sources.archives import Archive

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
