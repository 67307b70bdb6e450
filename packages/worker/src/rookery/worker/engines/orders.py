"""Orders for engines, and the files that they need: nets and programs, downloaded once and checked
by their hash at each use."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from rookery.core.model.engine import EngineRecord
from rookery.worker.engines.cache import Cache, note_use
from rookery.worker.sandbox.sandbox import BuiltEngine

# What can be ordered from the workshop, and its errors.

Blame = Literal["run", "machine"]
"""Who is to blame: `machine` if another machine may succeed, else `run`."""


class TaskFailed(Exception):
    """A task can't be completed on this machine."""

    def __init__(self, sentence: str, log: str = "", blame: Blame = "machine") -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.log = log
        self.blame = blame


class BuildFailed(TaskFailed):
    """The engine could not be built."""


class BenchFailed(TaskFailed):
    """The engine's bench failed."""

    def __init__(self, sentence: str, log: str = "") -> None:
        super().__init__(sentence, log, "run")


@dataclass(frozen=True, slots=True)
class EngineOrder:
    """An order for one engine: a version of its source or an uploaded program, with its nets."""

    record: EngineRecord
    commit: str
    repository: str
    binary: str = ""
    """The SHA-256 of an uploaded program, for which nothing is built."""
    nets: tuple[str, ...] = ()
    signature: int | None = None

    @property
    def address(self) -> str:
        """Where the source comes from: the author's repository, or the engine's own."""
        return self.repository or self.record.source


class NotOffered(Exception):
    """The server does not have that file."""


class EngineDownloads(Protocol):
    """Where files come from: a worker's server, or the disk for commands.

    Each method writes a whole file to the given path, or raises NotOffered or OSError.
    """

    async def net(self, name: str, into: Path) -> None: ...

    async def binary(self, sha256: str, into: Path) -> None: ...

    async def source(self, repository: str, commit: str, into: Path) -> None:
        """Write a zip archive of a commit. Raises NotOffered for a repository that the server does
        not mirror."""
        ...


class NoDownloads:
    """Downloads without a server: nothing is available."""

    async def net(self, name: str, into: Path) -> None:
        raise NotOffered

    async def binary(self, sha256: str, into: Path) -> None:
        raise NotOffered

    async def source(self, repository: str, commit: str, into: Path) -> None:
        raise NotOffered


@dataclass(frozen=True, slots=True)
class BenchResult:
    """The result of a bench: nodes, nodes a second of one thread, and the spread between slots."""

    nodes: int
    nps: float
    spread: float = 0.0


# Nets: downloaded once by name, and checked by the part of their hash that the name contains.

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+@-]*", re.ASCII)
_WHOLE = re.compile(r"(?<![0-9a-f])([0-9a-f]{64})(?![0-9a-f])", re.ASCII)
_SHORT = re.compile(r"nn-([0-9a-f]{12})\.nnue", re.ASCII)


@dataclass(frozen=True, slots=True)
class NetFile:
    """A net in the cache."""

    name: str
    path: Path
    digest: str


@dataclass(frozen=True, slots=True)
class NetCache:
    """The nets of one cache."""

    cache: Cache
    downloads: EngineDownloads

    async def get(self, names: Sequence[str]) -> tuple[NetFile, ...]:
        """Return the files of these nets, in this order. Raise BuildFailed."""
        return tuple([await self._get(name) for name in names])

    async def _get(self, name: str) -> NetFile:
        if not NAME.fullmatch(name):
            raise BuildFailed(f"{name!r} is not the name of a net.", blame="run")
        if known := await self.cache.threads.io(self._known, name):
            return known
        async with self.cache.locked("nets", name):
            known = await self.cache.threads.io(self._known, name)
            return known or await self._fetch(name)

    def _known(self, name: str) -> NetFile | None:
        """Return a net in the cache with the right content. It is read at each use, because a bad
        disk would spoil every game."""
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
                raise BuildFailed(f"The content of the net {name} does not match its name.")
            path = await self.cache.threads.io(self._keep, file, name)
        return NetFile(name, path, digest)

    def _keep(self, file: Path, name: str) -> Path:
        file.chmod(0o644)
        return self.cache.keep(file, "nets", name)


def name_fits(name: str, digest: str) -> bool:
    """Whether a net's content has the hash in its name, if there is one."""
    if whole := _WHOLE.search(name):
        return digest == whole[1]
    short = _SHORT.fullmatch(name)
    return short is None or digest.startswith(short[1])


def digest_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def default_nets(record: EngineRecord) -> tuple[str, ...]:
    """Return the nets of a side that names none, from the comma-separated names in the record."""
    return tuple(name.strip() for name in record.nets.default.split(",") if name.strip())


def assign_nets(record: EngineRecord, nets: Sequence[NetFile]) -> tuple[tuple[str, NetFile], ...]:
    """Each net with the build variable or UCI option for it. The record has their names, separated
    by commas."""
    default = "EVALFILE" if record.nets.use == "build_variable" else "EvalFile"
    names = [name.strip() for name in (record.nets.name or default).split(",")]
    if len(nets) > len(names):
        raise BuildFailed(
            f"The record of {record.name} says where {len(names)} of {len(nets)} nets go.",
            blame="run",
        )
    return tuple(zip(names, nets, strict=False))


# Uploaded programs, identified by their hash, which is always checked.

_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class ProgramCache:
    """The uploaded programs of one cache."""

    cache: Cache
    downloads: EngineDownloads

    async def get(self, digest: str) -> BuiltEngine:
        """Return the program with this hash. Raise BuildFailed."""
        if not _DIGEST.fullmatch(digest):
            raise BuildFailed(f"{digest!r} is not the SHA-256 of a program.", blame="run")
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
            raise BuildFailed(f"The content of the program {digest} does not match its hash.")
        file.chmod(0o755)
        self.cache.keep(file, "programs", digest)
