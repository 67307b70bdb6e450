"""Bare copies of repositories, each with just the commits that somebody asked for."""

import hashlib
import shutil
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from rookery.outside.git import Git

ARCHIVES = "archives"


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

    def archive(self, git: Git, repository: str, commit: str, top: str) -> Path:
        """A zip of the commit's files below the folder `top`, made once; raises CannotAsk."""
        mirror = self._place(git, repository)
        packed = mirror / ARCHIVES / f"{commit}.zip"
        with self._turns[mirror]:
            if not packed.is_file():
                self._fetch(git, repository, commit, mirror)
                self._pack(git, commit, top, packed)
            packed.touch()
        return packed

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

    def _pack(self, git: Git, commit: str, top: str, packed: Path) -> None:
        packed.parent.mkdir(exist_ok=True)
        unfinished = packed.with_suffix(".part")
        words = ("archive", "--format=zip", f"--prefix={top}/", f"--output={unfinished}")
        git.run(*words, commit, folder=packed.parent.parent)
        unfinished.rename(packed)

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
