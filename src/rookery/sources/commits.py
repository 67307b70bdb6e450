"""Commits: what a branch or a tag stands for right now, and what its author wrote."""

import asyncio
import hashlib
import re
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Protocol

from rookery.boundary.offload import Gate, Threads
from rookery.caches import SharedWork
from rookery.logs import Log, SilentLog
from rookery.model.plan import Plan, Side

LONGEST_REVISION = 200
LONGEST_MESSAGE = 20_000
_REVISION = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./+@#=,-]*", re.ASCII)


class CannotAsk(Exception):
    """Whoever knows can't be asked; the text says why."""


class UnknownRevision(CannotAsk):
    """There is no such branch, tag or commit."""

    def __init__(self, revision: str, repository: str) -> None:
        super().__init__(f"there is no branch, tag or commit {revision} in {repository}")


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit and its whole message; the message is empty where nobody could tell it."""

    sha: str
    message: str = ""


class Finder(Protocol):
    """Asks the world outside; blocks for seconds."""

    def find(self, repository: str, revision: str, *, known: bool) -> Commit:
        """Raises CannotAsk. Only for a repository that is `known` the server shows who it is:
        whoever submits a run may name any other, and must not read what only the server can."""
        ...


class Commits:
    """Few may ask at a time; whoever comes on top is told so at once instead of waiting."""

    def __init__(self, finder: Finder, threads: Threads, gate: Gate, *, seconds: float) -> None:
        self.gate = gate
        self._finder = finder
        self._threads = threads
        self._seconds = seconds

    async def find(self, repository: str, revision: str, *, known: bool) -> Commit:
        """Raises CannotAsk or GateFull."""
        check_revision(revision)
        with self.gate.enter():
            try:
                async with asyncio.timeout(self._seconds):
                    found = await self._threads.io(
                        self._finder.find, repository, revision, known=known
                    )
            except TimeoutError:
                raise CannotAsk("nobody answered in time") from None
        return Commit(found.sha, found.message[:LONGEST_MESSAGE])


def check_revision(revision: str) -> None:
    """What git itself would refuse, or might take for something else than a name."""
    odd = ".." in revision or revision.endswith((".lock", "/", ".")) or "@{" in revision
    if odd or len(revision) > LONGEST_REVISION or _REVISION.fullmatch(revision) is None:
        raise CannotAsk(f"{revision[:60]!r} can't be the name of a branch, tag or commit")


# Source trees as archives that this server gives itself, so that a worker needs no other one.

PREFIX = "/src"
MADE_AT_ONCE = 2
DAYS_KEPT = 30
_ODD = re.compile(r"[^A-Za-z0-9_.-]+", re.ASCII)


@lru_cache(maxsize=4096)
def mirror_name(repository: str) -> str:
    """What a repository is called here: its own last word, and digits that tell it from others."""
    word = _ODD.sub("-", repository.rpartition("/")[2])[:60].strip(".-") or "source"
    return f"{word}-{hashlib.sha256(repository.encode()).hexdigest()[:12]}"


def mirrored_side(plan: Plan, name: str, commit: str) -> Side | None:
    """The side of a mirrored plan that this archive is for."""
    if not plan.mirrored:
        return None
    for side in plan.sides:
        if side.commit == commit and not side.binary and mirror_name(side.repository) == name:
            return side
    return None


@dataclass(frozen=True, slots=True)
class Archive:
    """A zip file with one folder at its top, and the submodules that are not in it, with why."""

    file: Path
    missing: tuple[str, ...] = ()


class Archiver(Protocol):
    """Fetches and packs; blocks, at times for a minute or two."""

    def archive(self, repository: str, commit: str, *, known: frozenset[str]) -> Archive:
        """Raises CannotAsk. Only to repositories that are `known` the server shows who it is, be it
        this one or that of a submodule."""
        ...

    def forget_archives(self, days: int) -> None:
        """Removes what nobody has asked for in so many days."""
        ...


class Archives:
    """However many ask for an archive at a time, it is made once."""

    def __init__(self, archiver: Archiver, threads: Threads, log: Log | None = None) -> None:
        self._archiver = archiver
        self._log = log or SilentLog()
        self._threads = threads
        self._room = asyncio.Semaphore(MADE_AT_ONCE)
        self._made: SharedWork[tuple[str, str, frozenset[str]], Archive] = SharedWork()

    async def get(self, repository: str, commit: str, *, known: frozenset[str]) -> Archive:
        """Raises CannotAsk."""
        return await self._made(
            (repository, commit, known), partial(self._get, repository, commit, known)
        )

    async def _get(self, repository: str, commit: str, known: frozenset[str]) -> Archive:
        async with self._room:
            work = self._archiver.archive
            found = await self._threads.io(work, repository, commit, known=known)
        for missing in found.missing:
            self._log.warning("submodule_missing", commit=commit, submodule=missing)
        return found

    async def clean_up(self) -> None:
        await self._threads.io(self._archiver.forget_archives, DAYS_KEPT)
