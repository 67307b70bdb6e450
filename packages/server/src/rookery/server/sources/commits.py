"""Finds the commit of a branch or tag, and makes archives of source trees: limits and checks around
the code that talks to other servers.
"""

import asyncio
import hashlib
import re
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Protocol

from rookery.core.boundary.offload import Gate, Threads
from rookery.core.model.plan import Plan, Side
from rookery.server.caches import SharedWork
from rookery.server.logs import Log, SilentLog

LONGEST_REVISION = 200
LONGEST_MESSAGE = 20_000
_REVISION = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./+@#=,-]*", re.ASCII)


class SourceError(Exception):
    """A commit or its files can't be fetched; the text says why."""


class HostNotFound(SourceError):
    """No name service knows the host at the moment; this may be temporary."""

    def __init__(self, host: str) -> None:
        super().__init__(f"there is no host {host}")


def unknown_revision(revision: str, repository: str) -> SourceError:
    return SourceError(f"there is no branch, tag or commit {revision} in {repository}")


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit and its whole message, empty if it can't be read."""

    sha: str
    message: str = ""


class Finder(Protocol):
    """Finds commits on other servers; blocks for seconds."""

    def find(self, repository: str, revision: str, *, known: bool) -> Commit:
        """Find a commit; raise SourceError. The server uses its own credentials only if `known` is
        set: a submitter may name any repository, and must not read what only the server may
        read."""
        ...


class Commits:
    """Finds commits in threads, a few at a time; further requests are refused at once."""

    def __init__(self, finder: Finder, threads: Threads, gate: Gate, *, seconds: float) -> None:
        self.gate = gate
        self._finder = finder
        self._threads = threads
        self._seconds = seconds

    async def find(self, repository: str, revision: str, *, known: bool) -> Commit:
        """Return the commit of a branch, a tag or a hash; raise SourceError or GateFull."""
        check_revision(revision)
        with self.gate.enter():
            try:
                async with asyncio.timeout(self._seconds):
                    found = await self._threads.io(
                        self._finder.find, repository, revision, known=known
                    )
            except TimeoutError:
                raise SourceError("there was no answer in time") from None
        return Commit(found.sha, found.message[:LONGEST_MESSAGE])


def check_revision(revision: str) -> None:
    """Raise SourceError for a name that git refuses or may read as something else."""
    odd = ".." in revision or revision.endswith((".lock", "/", ".")) or "@{" in revision
    if odd or len(revision) > LONGEST_REVISION or _REVISION.fullmatch(revision) is None:
        raise SourceError(f"{revision[:60]!r} can't be the name of a branch, tag or commit")


# Archives of source trees, which workers download from this server instead of elsewhere.

PREFIX = "/src"
MADE_AT_ONCE = 2
DAYS_KEPT = 30
_ODD = re.compile(r"[^A-Za-z0-9_.-]+", re.ASCII)


@lru_cache(maxsize=4096)
def mirror_name(repository: str) -> str:
    """Return the name of a repository's archives: the last part of its address and a hash of the
    whole."""
    word = _ODD.sub("-", repository.rpartition("/")[2])[:60].strip(".-") or "source"
    return f"{word}-{hashlib.sha256(repository.encode()).hexdigest()[:12]}"


def mirrored_side(plan: Plan, name: str, commit: str) -> Side | None:
    """Return the side of the plan that is built from this archive; None where there is none."""
    if not plan.mirrored:
        return None
    for side in plan.sides:
        if side.commit == commit and not side.binary and mirror_name(side.repository) == name:
            return side
    return None


@dataclass(frozen=True, slots=True)
class Archive:
    """A zip file with one top folder; `missing` are the submodules that could not be included."""

    file: Path
    missing: tuple[str, ...] = ()


class Archiver(Protocol):
    """Fetches commits and packs their files; blocks, at times for a minute or two."""

    def archive(self, repository: str, commit: str, *, known: frozenset[str]) -> Archive:
        """Pack the files of a commit; raise SourceError. The server uses its own credentials only
        for the `known` repositories, including submodules."""
        ...

    def forget_archives(self, days: int) -> None:
        """Remove archives that were not used for `days` days."""
        ...


class Archives:
    """Makes archives in threads; simultaneous requests for one archive share the work."""

    def __init__(self, archiver: Archiver, threads: Threads, log: Log | None = None) -> None:
        self._archiver = archiver
        self._log = log or SilentLog()
        self._threads = threads
        self._making = asyncio.Semaphore(MADE_AT_ONCE)
        self._made: SharedWork[tuple[str, str, frozenset[str]], Archive] = SharedWork()

    async def get(self, repository: str, commit: str, *, known: frozenset[str]) -> Archive:
        """Return the archive of a commit; raise SourceError."""
        return await self._made(
            (repository, commit, known), partial(self._get, repository, commit, known)
        )

    async def _get(self, repository: str, commit: str, known: frozenset[str]) -> Archive:
        async with self._making:
            work = self._archiver.archive
            found = await self._threads.io(work, repository, commit, known=known)
        for missing in found.missing:
            self._log.warning("submodule_missing", commit=commit, submodule=missing)
        return found

    async def clean_up(self) -> None:
        await self._threads.io(self._archiver.forget_archives, DAYS_KEPT)
