"""Bare copies of repositories, each with just the commits that somebody asked for."""

import hashlib
import shutil
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from rookery.outside.git import Git


@dataclass(frozen=True, slots=True)
class Mirrors:
    """Folders below one. Those who want the same repository take turns: one fetch at a time."""

    folder: Path
    git: Git
    _turns: defaultdict[Path, Lock] = field(default_factory=lambda: defaultdict(Lock))

    def message(self, git: Git, repository: str, commit: str) -> str:
        """A commit's own words; raises CannotAsk."""
        mirror = self._place(repository)
        with self._turns[mirror]:
            self._fetch(git, repository, commit, mirror)
            return git.run("log", "-1", "--format=%B", commit, "--", folder=mirror).strip()

    def _fetch(self, git: Git, repository: str, commit: str, mirror: Path) -> None:
        """Just this commit, without what came before it."""
        git.reach.check(repository)
        if not (mirror / "HEAD").is_file():
            shutil.rmtree(mirror, ignore_errors=True)
            mirror.mkdir(parents=True)
            git.run("init", "--quiet", "--bare", folder=mirror)
        words = ("fetch", "--quiet", "--no-tags", "--depth=1")
        git.run(*words, "--", repository, commit, folder=mirror)

    def _place(self, repository: str) -> Path:
        return self.folder / hashlib.sha256(repository.encode()).hexdigest()[:32]
