"""Commits: what a branch or a tag stands for right now, and what its author wrote."""

import asyncio
import re
from dataclasses import dataclass
from typing import Protocol

from rookery.boundary.gate import Gate
from rookery.boundary.offload import Threads

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


class NoFinder:
    """Where nobody outside is asked."""

    def find(self, repository: str, revision: str, *, known: bool) -> Commit:
        del known
        raise CannotAsk(f"this server does not look up {revision} in {repository}")


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
