"""Commits by their names, from GitHub's API if possible, else by git; and their files."""

import re
from dataclasses import dataclass, replace
from typing import Protocol

from rookery.clock import Clock
from rookery.protocol.user_documents import QuotaDocument
from rookery.sources.commits import Archive, Archiver, CannotAsk, Commit, Finder, mirror_name
from rookery.sources.git import Git
from rookery.sources.github import SITE, GitHub, QuotaSpent
from rookery.sources.mirrors import Mirrors

FETCH_SECONDS = 120.0
_WHOLE = re.compile(r"[0-9a-f]{40}", re.ASCII)


class Outside(Finder, Archiver, Protocol):
    """Who is asked for commits and their files."""

    def quota(self) -> QuotaDocument:
        """What is left of the calls to GitHub."""
        ...


@dataclass(frozen=True, slots=True)
class OutsideCommits:
    """A repository on GitHub is asked by git too once the quota is used up: that costs none."""

    mirrors: Mirrors
    github: GitHub
    clock: Clock

    def find(self, repository: str, revision: str, *, known: bool) -> Commit:
        if repository.startswith(SITE) and "https" in self.mirrors.git.reach.schemes:
            try:
                return self.github.commit(repository, revision, known=known)
            except QuotaSpent:
                pass
        git = self.mirrors.git
        return self._by_git(git if known else git.anonymous(), repository, revision)

    def archive(self, repository: str, commit: str, *, known: frozenset[str]) -> Archive:
        patient, top = replace(self.mirrors.git, seconds=FETCH_SECONDS), mirror_name(repository)
        return self.mirrors.archive(patient, repository, commit, top, known, self.clock)

    def forget_archives(self, days: int) -> None:
        self.mirrors.forget(days, self.clock.now().timestamp())

    def quota(self) -> QuotaDocument:
        return self.github.quota()

    def _by_git(self, git: Git, repository: str, revision: str) -> Commit:
        whole = _WHOLE.fullmatch(revision) is not None
        sha = revision if whole else git.find(repository, revision)
        try:
            return Commit(sha, self.mirrors.message(git, repository, sha))
        except CannotAsk:
            # Some servers give no single commits away. What the commit is, is known all the same.
            if whole:
                raise
            return Commit(sha, "")
