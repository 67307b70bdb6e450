"""Source trees as archives that this server gives itself, so that a worker needs no other one."""

import asyncio
import hashlib
import re
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Protocol

from rookery.boundary.offload import Threads
from rookery.core.plan import Plan, Side
from rookery.logs import Log, SilentLog
from rookery.service.joined import Joined
from rookery.service.sources.commits import CannotAsk

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
    if not plan.wishes.mirrored:
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


class NoArchiver:
    """Where nothing is fetched."""

    def archive(self, repository: str, commit: str, *, known: frozenset[str]) -> Archive:
        del known
        raise CannotAsk(f"this server does not fetch {commit} of {repository}")

    def forget_archives(self, days: int) -> None: ...


class Archives:
    """However many ask for an archive at a time, it is made once."""

    def __init__(self, archiver: Archiver, threads: Threads, log: Log | None = None) -> None:
        self._archiver = archiver
        self._log = log or SilentLog()
        self._threads = threads
        self._room = asyncio.Semaphore(MADE_AT_ONCE)
        self._made: Joined[tuple[str, str, frozenset[str]], Archive] = Joined()

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
