"""What is ordered of a worker's engines, and the files that come for them: nets and programs,
fetched once and compared with their hash at each use.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from rookery.model.engine import EngineRecord
from rookery.worker.engines.cache import Cache, note_use
from rookery.worker.sandbox.sandbox import BuiltEngine

# What is asked of the workshop, and how it says that it can't.

Blame = Literal["run", "machine"]
"""Whether another machine would meet the same trouble."""


class TaskFailed(Exception):
    """A task can't be played to its end here."""

    def __init__(self, sentence: str, log: str = "", blame: Blame = "machine") -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.log = log
        self.blame = blame


class BuildFailed(TaskFailed):
    """The engine could not be made."""


class BenchFailed(TaskFailed):
    """The engine's bench did not end as it should."""

    def __init__(self, sentence: str, log: str = "") -> None:
        super().__init__(sentence, log, "run")


@dataclass(frozen=True, slots=True)
class EngineOrder:
    """One engine to make: which version of it, or which uploaded program, with which nets."""

    record: EngineRecord
    commit: str
    repository: str
    binary: str = ""
    """The SHA-256 of an uploaded program; then nothing is built."""
    nets: tuple[str, ...] = ()
    signature: int | None = None


class NotOffered(Exception):
    """The server does not have that file."""


class EngineDownloads(Protocol):
    """Where files come from: a worker's server, or the command line's own disk.

    Each writes a whole file to the path it is given, or raises NotOffered or OSError.
    """

    async def net(self, name: str, into: Path) -> None: ...

    async def binary(self, sha256: str, into: Path) -> None: ...

    async def source(self, repository: str, commit: str, into: Path) -> None:
        """A zip archive; NotOffered for a repository that is not the server's own."""
        ...


class NoDownloads:
    """Downloads where there is nowhere to ask."""

    async def net(self, name: str, into: Path) -> None:
        raise NotOffered

    async def binary(self, sha256: str, into: Path) -> None:
        raise NotOffered

    async def source(self, repository: str, commit: str, into: Path) -> None:
        raise NotOffered


@dataclass(frozen=True, slots=True)
class BenchResult:
    """A bench: its nodes, the nodes a second of one thread, and how far the slots lay apart."""

    nodes: int
    nps: float
    spread: float = 0.0


# Networks: fetched once by name, checked by whatever part of their hash the name tells.

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+@-]*", re.ASCII)
_WHOLE = re.compile(r"(?<![0-9a-f])([0-9a-f]{64})(?![0-9a-f])", re.ASCII)
_SHORT = re.compile(r"nn-([0-9a-f]{12})\.nnue", re.ASCII)


@dataclass(frozen=True, slots=True)
class NetFile:
    """A net as a file of the cache."""

    name: str
    path: Path
    digest: str


@dataclass(frozen=True, slots=True)
class NetCache:
    """The nets of one cache."""

    cache: Cache
    downloads: EngineDownloads

    async def get(self, names: Sequence[str]) -> tuple[NetFile, ...]:
        """The files of these nets, in this order; raises BuildFailed."""
        return tuple([await self._get(name) for name in names])

    async def _get(self, name: str) -> NetFile:
        if not NAME.fullmatch(name):
            raise BuildFailed(f"{name!r} is no name of a net.", blame="run")
        if known := await self.cache.threads.io(self._known, name):
            return known
        async with self.cache.locked("nets", name):
            known = await self.cache.threads.io(self._known, name)
            return known or await self._fetch(name)

    def _known(self, name: str) -> NetFile | None:
        """A net in the cache whose content is right: it is read at each use, because a bad disk
        would spoil every game."""
        path = self.cache.place("nets", name)
        if not path.is_file():
            return None
        digest = digest_of(path)
        if not name_fits(name, digest):
            return None
        note_use(path)
        return NetFile(name, path, digest)

    async def _fetch(self, name: str) -> NetFile:
        async with self.cache.scratch() as scratch:
            file = scratch / "net"
            try:
                await self.downloads.net(name, file)
            except NotOffered:
                raise BuildFailed(f"The server has no net {name}.", blame="run") from None
            digest = await self.cache.threads.io(digest_of, file)
            if not name_fits(name, digest):
                raise BuildFailed(f"The net {name} came with another content than its name says.")
            path = await self.cache.threads.io(self._keep, file, name)
        return NetFile(name, path, digest)

    def _keep(self, file: Path, name: str) -> Path:
        file.chmod(0o644)
        return self.cache.keep(file, "nets", name)


def name_fits(name: str, digest: str) -> bool:
    """Whether a net's content has the hash that its name tells, if it tells one."""
    if whole := _WHOLE.search(name):
        return digest == whole[1]
    short = _SHORT.fullmatch(name)
    return short is None or digest.startswith(short[1])


def digest_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def default_nets(record: EngineRecord) -> tuple[str, ...]:
    """The nets that a side has which names none; several after commas."""
    return tuple(name.strip() for name in record.nets.default.split(",") if name.strip())


def assign_nets(record: EngineRecord, nets: Sequence[NetFile]) -> tuple[tuple[str, NetFile], ...]:
    """Each net with the build variable or UCI option that takes it, several after commas."""
    default = "EVALFILE" if record.nets.use == "build_variable" else "EvalFile"
    names = [name.strip() for name in (record.nets.name or default).split(",")]
    if len(nets) > len(names):
        raise BuildFailed(
            f"The record of {record.name} tells where {len(names)} of {len(nets)} nets go.",
            blame="run",
        )
    return tuple(zip(names, nets, strict=False))


# Programs that somebody uploaded: known by their hash, and never taken on trust.

_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class ProgramCache:
    """The uploaded programs of one cache."""

    cache: Cache
    downloads: EngineDownloads

    async def get(self, digest: str) -> BuiltEngine:
        """The program of that hash; raises BuildFailed."""
        if not _DIGEST.fullmatch(digest):
            raise BuildFailed(f"{digest!r} is no SHA-256 of a program.", blame="run")
        if not await self.cache.threads.io(self._is_there, digest):
            async with self.cache.locked("programs", digest):
                if not await self.cache.threads.io(self._is_there, digest):
                    await self._fetch(digest)
        path = self.cache.place("programs", digest)
        return BuiltEngine((str(path),), digest, readable=(path,))

    def _is_there(self, digest: str) -> bool:
        path = self.cache.place("programs", digest)
        if not path.is_file() or digest_of(path) != digest:
            return False
        note_use(path)
        return True

    async def _fetch(self, digest: str) -> None:
        async with self.cache.scratch() as scratch:
            file = scratch / "program"
            try:
                await self.downloads.binary(digest, file)
            except NotOffered:
                sentence = f"The server has no program {digest}."
                raise BuildFailed(sentence, blame="run") from None
            await self.cache.threads.io(self._keep, file, digest)

    def _keep(self, file: Path, digest: str) -> None:
        if digest_of(file) != digest:
            raise BuildFailed(f"The program {digest} came with another content than that.")
        file.chmod(0o755)
        self.cache.keep(file, "programs", digest)
