"""Networks: fetched once by name, checked by whatever part of their hash the name tells."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rookery.model.engine import EngineRecord
from rookery.worker.engines.cache import Cache, note_use
from rookery.worker.engines.order import BuildFailed, Downloads, NotOffered
from rookery.worker.sandbox.sandbox import Built

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+@-]*", re.ASCII)
_WHOLE = re.compile(r"(?<![0-9a-f])([0-9a-f]{64})(?![0-9a-f])", re.ASCII)
_SHORT = re.compile(r"nn-([0-9a-f]{12})\.nnue", re.ASCII)


@dataclass(frozen=True, slots=True)
class Net:
    """A net as a file of the cache."""

    name: str
    path: Path
    digest: str


@dataclass(frozen=True, slots=True)
class Nets:
    """The nets of one cache."""

    cache: Cache
    downloads: Downloads

    async def get(self, names: Sequence[str]) -> tuple[Net, ...]:
        """All of them, in this order; raises BuildFailed."""
        return tuple([await self._get(name) for name in names])

    async def _get(self, name: str) -> Net:
        if not NAME.fullmatch(name):
            raise BuildFailed(f"{name!r} is no name of a net.", whose="run")
        if known := await self.cache.threads.io(self._known, name):
            return known
        async with self.cache.locked("nets", name):
            known = await self.cache.threads.io(self._known, name)
            return known or await self._fetch(name)

    def _known(self, name: str) -> Net | None:
        """The file is read each time, because a bad disk would spoil every game."""
        path = self.cache.place("nets", name)
        if not path.is_file():
            return None
        digest = digest_of(path)
        if not fits(name, digest):
            return None
        note_use(path)
        return Net(name, path, digest)

    async def _fetch(self, name: str) -> Net:
        async with self.cache.scratch() as scratch:
            file = scratch / "net"
            try:
                await self.downloads.net(name, file)
            except NotOffered:
                raise BuildFailed(f"The server has no net {name}.", whose="run") from None
            digest = await self.cache.threads.io(digest_of, file)
            if not fits(name, digest):
                raise BuildFailed(f"The net {name} came with another content than its name says.")
            path = await self.cache.threads.io(self._keep, file, name)
        return Net(name, path, digest)

    def _keep(self, file: Path, name: str) -> Path:
        file.chmod(0o644)
        return self.cache.keep(file, "nets", name)


def fits(name: str, digest: str) -> bool:
    """Whether a net's content has the hash that its name tells, if it tells one."""
    if whole := _WHOLE.search(name):
        return digest == whole[1]
    short = _SHORT.fullmatch(name)
    return short is None or digest.startswith(short[1])


def digest_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def defaults(record: EngineRecord) -> tuple[str, ...]:
    """The nets that a side has which names none; several after commas."""
    return tuple(name.strip() for name in record.nets.default.split(",") if name.strip())


def by_name(record: EngineRecord, nets: Sequence[Net]) -> tuple[tuple[str, Net], ...]:
    """Each net with the build variable or UCI option that takes it, several after commas."""
    default = "EVALFILE" if record.nets.use == "build_variable" else "EvalFile"
    names = [name.strip() for name in (record.nets.name or default).split(",")]
    if len(nets) > len(names):
        raise BuildFailed(
            f"The record of {record.name} tells where {len(names)} of {len(nets)} nets go.",
            whose="run",
        )
    return tuple(zip(names, nets, strict=False))


# Programs that somebody uploaded: known by their hash, and never taken on trust.

_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Uploads:
    """The uploaded programs of one cache."""

    cache: Cache
    downloads: Downloads

    async def get(self, digest: str) -> Built:
        """The program of that hash; raises BuildFailed."""
        if not _DIGEST.fullmatch(digest):
            raise BuildFailed(f"{digest!r} is no SHA-256 of a program.", whose="run")
        if not await self.cache.threads.io(self._is_there, digest):
            async with self.cache.locked("programs", digest):
                if not await self.cache.threads.io(self._is_there, digest):
                    await self._fetch(digest)
        path = self.cache.place("programs", digest)
        return Built((str(path),), digest, readable=(path,))

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
                raise BuildFailed(sentence, whose="run") from None
            await self.cache.threads.io(self._keep, file, digest)

    def _keep(self, file: Path, digest: str) -> None:
        if digest_of(file) != digest:
            raise BuildFailed(f"The program {digest} came with another content than that.")
        file.chmod(0o755)
        self.cache.keep(file, "programs", digest)
