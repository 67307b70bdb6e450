"""What the worker reports about itself in every call."""

import platform
import shutil
import sys
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from time import monotonic

from msgspec import UNSET

from rookery.core import __version__
from rookery.core.model.engine import BUNDLED_COMMAND, EngineRecord, catalogue_of
from rookery.core.model.machine import Abilities, ClaimedAbilities, WorkerInfo, abilities_of
from rookery.core.model.plan import Plan, Side, demands_of, first_missing
from rookery.core.model.tools import is_reported_flag
from rookery.core.protocol.worker_answers import OFFICIAL_VERSION
from rookery.worker.engines.recipes import compilers_of
from rookery.worker.engines.toolchain import read_tool
from rookery.worker.system import System, architecture
from rookery.worker.tools import COMPILERS, tool_versions, version_triple

KEY_DIGITS = 8
NOISY_SECONDS = 3600.0
"""How long a machine counts as noisy after its slots' speeds differed. Only a run that needs exact
times measures them again."""


@dataclass(frozen=True, slots=True)
class WorkerOffer:
    """What the owner allows the worker to use, and the owner's preferences."""

    username: str
    concurrency: int
    memory_mib: int
    min_threads: int = 1
    noisy: bool = False
    not_noisy: bool = False
    """Whether the owner says so, whatever is measured."""
    focus: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    syzygy_men: int = 0


@dataclass(frozen=True, slots=True)
class MachineFacts:
    """The properties of the machine."""

    system: str
    uname: str
    linkage: tuple[str, str]
    """The bits and the format of programs, such as 64bit and ELF."""
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
class WorkerIdentity:
    """What a worker reports about itself. The speed is known after the first bench, the kind of
    server after its first answer.

    The heartbeat's thread reads it too, so each field is replaced as a whole.
    """

    offer: WorkerOffer
    facts: MachineFacts
    key: str
    is_rookery: bool = False
    features: frozenset[str] = frozenset()
    """What a Rookery server says that it supports."""
    nps: float = 0.0
    engine_arch: str = "?"
    disturbed: float | None = None
    """When the slots' speeds last differed too much, by `monotonic`."""
    runner: str = "builtin"
    sandbox: bool = False
    bundled_only: bool = False
    latency_ms: float = 0.0
    """The 99th percentile of how late the runner of the last match woke up."""

    @property
    def info(self) -> WorkerInfo:
        """The worker's info as the official worker sends it. A Rookery server gets more."""
        return WorkerInfo(
            uname=self.facts.uname,
            architecture=self.facts.linkage,
            cores=self.offer.concurrency,
            memory=self.offer.memory_mib,
            min_threads=self.offer.min_threads,
            user=self.offer.username,
            version=OFFICIAL_VERSION,
            python_version=self.facts.python,
            gcc_version=self.facts.compiler_version,
            compiler=self.facts.compiler,
            key=self.key,
            modified=not self.is_rookery,
            arch=self.facts.arch,
            engine_arch=self.engine_arch,
            nps=self.nps,
            near_github_limit=False,
            rookery=self.abilities if self.is_rookery else UNSET,
        )

    @property
    def noisy(self) -> bool:
        """Whether other programs use the machine: the owner says so, or it was measured lately."""
        if self.offer.noisy or self.offer.not_noisy or self.disturbed is None:
            return self.offer.noisy
        return monotonic() - self.disturbed < NOISY_SECONDS

    @property
    def abilities(self) -> ClaimedAbilities:
        """The abilities that an official worker does not have."""
        facts, offer = self.facts, self.offer
        return ClaimedAbilities(
            version=__version__,
            system=facts.system,
            cpu=facts.cpu,
            cpu_flags=facts.flags,
            physical_cores=facts.physical_cores,
            numa=facts.numa,
            tools=dict(facts.tools),
            runner=self.runner,
            syzygy_men=offer.syzygy_men,
            noisy=self.noisy,
            focus=offer.focus,
            only=offer.only,
            host=facts.host,
            sandbox=self.sandbox,
            bundled_only=self.bundled_only,
        )


def unique_key(system: System, folder: Path, instance: int, prefix: str = "") -> str:
    """Return the worker's key. Its first group identifies the machine and the worker on it, the
    rest this process."""
    machine = f"{system.host_id()} {folder} {instance}"
    head = prefix or sha256(machine.encode()).hexdigest()[:KEY_DIGITS]
    return "-".join([head, *str(uuid.uuid4()).split("-")[1:]])


# Which engines this machine can play, and what is missing for the others.

COMPILED = frozenset({"make", "stockfish", "cmake"})
USUAL = ("g++", "clang++", "gcc", "clang", "cc")
"""The compilers of which one must be there if a recipe names none."""
BUILDERS = {"make": "make", "stockfish": "make", "cmake": "cmake", "cargo": "cargo"}


@dataclass(frozen=True, slots=True)
class EngineFitness:
    """An engine, and why it can't be played here; empty if it can."""

    engine: str
    why_not: str


def check_engines(
    records: Iterable[EngineRecord], identity: WorkerIdentity
) -> Iterator[EngineFitness]:
    """Which of these engines can be played here. It looks for commands, so call it in a thread."""
    abilities = abilities_of(identity.abilities)
    for record in records:
        yield EngineFitness(
            record.name, _lacking(record, identity) or _unmet(record, identity, abilities)
        )


def _lacking(record: EngineRecord, identity: WorkerIdentity) -> str:
    """Why an engine can't be made here: there is no sandbox, or a program of its recipe is
    missing."""
    if identity.bundled_only and not record.is_bundled:
        return "there is no sandbox, and --without-sandbox was not given"
    kind, tools = record.recipe.kind, identity.facts.tools
    builder = BUILDERS.get(kind)
    if builder and builder not in tools:
        return f"{builder} is missing"
    compilers = [read_tool(each).name for each in compilers_of(record.recipe)] or USUAL
    if kind in COMPILED and not tools.keys() & set(compilers):
        return f"a compiler is missing: {' or '.join(compilers)}"
    command = record.recipe.output.partition(" ")[0]
    if kind == "installed" and command != BUNDLED_COMMAND and shutil.which(command) is None:
        return f"the command {command or '(none)'} is missing"
    return ""


def _unmet(record: EngineRecord, identity: WorkerIdentity, abilities: Abilities) -> str:
    """Return a need of a plain test of this engine that this machine does not meet; empty if there
    is none."""
    sides = (Side("new", "", engine=record.name), Side("base", "", engine=record.name))
    plan = Plan(sides, games=2, tc="10+0.1", owner="", book="openings.epd")
    demands = demands_of(plan, catalogue_of([record]))
    if missing := first_missing(demands.needs, abilities):
        return missing.sentence
    offer = identity.offer
    needed = demands.memory_mib(offer.concurrency)
    if needed > offer.memory_mib:
        return f"{offer.concurrency} games at a time take {needed} MiB of {offer.memory_mib}"
    return ""


# Examines the machine once, before the worker reports anything about it.

MOST_INSTANCES = 1000


def survey_machine(system: System) -> MachineFacts:
    """Return the properties of the machine. It starts compilers, so call it in a thread."""
    cpu, tools = system.cpu(), tool_versions()
    compiler = next((name for name in COMPILERS if name in tools), COMPILERS[0])
    return MachineFacts(
        system=system.name,
        uname=f"{platform.system()} {platform.release()}",
        linkage=platform.architecture(),
        python=sys.version_info[:3],
        cpu=cpu.name,
        flags=tuple(sorted(filter(is_reported_flag, cpu.flags))),
        arch=architecture(cpu, system.name),
        physical_cores=system.physical_cores(),
        numa=len(system.numa_nodes()),
        tools=tools,
        compiler=compiler,
        compiler_version=version_triple(tools.get(compiler, "")),
        host=system.host_name()[:100],
    )


def claim_instance(system: System, folder: Path) -> int:
    """Return the number of this worker among those that share this folder on this machine, from
    0."""
    for number in range(MOST_INSTANCES):
        if system.lock(folder / f"{system.host_name()}-{number}.lock"):
            return number
    return MOST_INSTANCES
