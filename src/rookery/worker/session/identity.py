"""What the worker says of itself in every call."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from msgspec import UNSET

from rookery import __version__
from rookery.protocol.worker.answers import OFFICIAL_VERSION
from rookery.protocol.worker.machine import Abilities, WorkerInfo
from rookery.worker.system import System

KEY_DIGITS = 8


@dataclass(frozen=True, slots=True)
class Offer:
    """What the owner lets the worker use, and wishes of it."""

    username: str
    concurrency: int
    memory_mib: int
    min_threads: int = 1
    noisy: bool = False
    focus: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    syzygy_men: int = 0


@dataclass(frozen=True, slots=True)
class Facts:
    """What the machine was found to have."""

    system: str
    uname: str
    linkage: tuple[str, str]
    """Such as 64bit and ELF."""
    python: tuple[int, int, int]
    cpu: str
    flags: tuple[str, ...]
    arch: str
    physical_cores: int
    numa: int
    tools: Mapping[str, str]
    compiler: str
    compiler_version: tuple[int, int, int]
    host: str


@dataclass(slots=True)
class Identity:
    """Mutable: the speed is learnt with the first bench, the server's kind with its first answer.

    Read by the heart's thread, too; each field is a value that is put in place whole.
    """

    offer: Offer
    facts: Facts
    key: str
    house: bool = False
    features: frozenset[str] = frozenset()
    """What a server of ours says that it can do."""
    nps: float = 0.0
    engine_arch: str = "?"
    noisy: bool = False
    runner: str = "builtin"
    sandbox: bool = False
    bundled_only: bool = False
    latency_ms: float = 0.0
    """How late the runner of the last match woke up at the worst, but for one time in a hundred."""

    @property
    def info(self) -> WorkerInfo:
        """As the official worker says it; more than that only to a server that knows us."""
        return WorkerInfo(
            uname=self.facts.uname,
            architecture=self.facts.linkage,
            concurrency=self.offer.concurrency,
            max_memory=self.offer.memory_mib,
            min_threads=self.offer.min_threads,
            username=self.offer.username,
            version=OFFICIAL_VERSION,
            python_version=self.facts.python,
            gcc_version=self.facts.compiler_version,
            compiler=self.facts.compiler,
            unique_key=self.key,
            modified=not self.house,
            worker_arch=self.facts.arch,
            arch=self.engine_arch,
            nps=self.nps,
            near_github_api_limit=False,
            rookery=self._abilities() if self.house else UNSET,
        )

    def _abilities(self) -> Abilities:
        facts, offer = self.facts, self.offer
        return Abilities(
            version=__version__,
            os=facts.system,
            cpu=facts.cpu,
            flags=facts.flags,
            physical_cores=facts.physical_cores,
            numa=facts.numa,
            tools=dict(facts.tools),
            runner=self.runner,
            syzygy_men=offer.syzygy_men,
            noisy=offer.noisy or self.noisy,
            focus=offer.focus,
            only=offer.only,
            host=facts.host,
            sandbox=self.sandbox,
            bundled_only=self.bundled_only,
        )


def unique_key(system: System, folder: Path, instance: int, prefix: str = "") -> str:
    """The first group names the machine, and which worker on it; the rest this very process."""
    machine = f"{system.host_id()} {folder} {instance}"
    head = prefix or sha256(machine.encode()).hexdigest()[:KEY_DIGITS]
    return "-".join([head, *str(uuid.uuid4()).split("-")[1:]])
