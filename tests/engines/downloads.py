"""Downloads from memory, counted."""

from dataclasses import dataclass, field
from pathlib import Path

from rookery.core.boundary.offload import Threads
from rookery.worker.engines.orders import NotOffered


@dataclass(slots=True)
class MemoryDownloads:
    """Files by name; a source's name is `repository@commit`."""

    files: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    async def net(self, name: str, into: Path) -> None:
        await self._give(name, into)

    async def binary(self, sha256: str, into: Path) -> None:
        await self._give(sha256, into)

    async def source(self, repository: str, commit: str, into: Path) -> None:
        await self._give(f"{repository}@{commit}", into)

    async def _give(self, name: str, into: Path) -> None:
        if name not in self.files:
            raise NotOffered
        self.asked.append(name)
        await Threads().io(into.write_bytes, self.files[name])
