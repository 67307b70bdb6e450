"""What is asked of the workshop, what it gives back, and how it says that it can't."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from rookery.model.engine import EngineRecord

Whose = Literal["run", "machine"]
"""Whether another machine would meet the same trouble."""


@dataclass(frozen=True, slots=True)
class Order:
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


class Downloads(Protocol):
    """Where files come from: a worker's server, or the command line's own disk.

    Each writes a whole file to the path it is given, or raises NotOffered or OSError.
    """

    async def net(self, name: str, into: Path) -> None: ...

    async def binary(self, sha256: str, into: Path) -> None: ...

    async def source(self, repository: str, commit: str, into: Path) -> None:
        """A zip archive; NotOffered for a repository that is not the server's own."""
        ...


class NoDownloads:
    """For who has nowhere to ask."""

    async def net(self, name: str, into: Path) -> None:
        raise NotOffered

    async def binary(self, sha256: str, into: Path) -> None:
        raise NotOffered

    async def source(self, repository: str, commit: str, into: Path) -> None:
        raise NotOffered


class BuildFailed(Exception):
    """The engine could not be made."""

    def __init__(self, sentence: str, log: str = "", whose: Whose = "machine") -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.log = log
        self.whose = whose


@dataclass(frozen=True, slots=True)
class Measured:
    """A bench: its nodes, the nodes a second of one thread, and how far the slots lay apart."""

    nodes: int
    nps: float
    spread: float = 0.0


class BenchFailed(Exception):
    """The engine's bench did not end as it should."""

    def __init__(self, sentence: str, log: str = "") -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.log = log
