"""Programs that somebody uploaded: known by their hash, and never taken on trust."""

import re
from dataclasses import dataclass
from pathlib import Path

from rookery.worker.engines.cache import Cache, note_use
from rookery.worker.engines.nets import digest_of
from rookery.worker.engines.order import BuildFailed, Built, Downloads, NotOffered

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
