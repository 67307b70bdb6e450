"""Machines: what a worker reports about itself, what it can do, and its names.

An official worker has exactly the classic abilities. A Rookery worker reports more in its
extension, and that decides which further runs it may get.
"""

import math
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, NamedTuple

from msgspec import UNSET, Meta, Struct, UnsetType, field
from msgspec.json import encode

from rookery.core.model.bounds import Amount, Cores, Count, Phrase, Triple, UniqueKey, Word, Words
from rookery.core.model.engine import BUNDLED, Version, read_version

SHORT_NAME = re.compile(r"[A-Za-z0-9]{2,50}-[0-9]{1,5}cores-[0-9a-zA-Z]{2,8}", re.ASCII)
"""The pattern of a machine's short name: user, cores and the first part of the key. It stays the
same over restarts of the worker."""
MACHINE_LIMIT = 16
"""How many machines of one user may play at once, unless an approver allows more."""
ROOKERY_RECIPES = frozenset(
    {"stockfish", "make", "cargo", "cmake", "commands", "installed", BUNDLED}
)
ROOKERY_VARIANTS = frozenset({"standard", "chess960"})

Men = Annotated[int, Meta(ge=0, le=8)]
Tools = Annotated[dict[Word, Word], Meta(max_length=200)]


class ClaimedAbilities(Struct, frozen=True, gc=False, omit_defaults=True):
    """What a Rookery worker reports in addition to an official one; only sent to Rookery
    servers."""

    version: Word = ""
    system: Word = field(default="", name="os")
    cpu: Phrase = ""
    """The processor's name."""
    cpu_flags: Words = field(default=(), name="flags")
    physical_cores: Count = 0
    numa: Count = 0
    tools: Tools = field(default_factory=dict)
    """The programs for building engines, with their versions."""
    runner: Word = ""
    syzygy_men: Men = 0
    noisy: bool = False
    """Whether other programs use the machine, so that it gets no run that needs exact times."""
    focus: Words = ()
    only: Words = ()
    host: Word = ""
    sandbox: bool = False
    """Whether engines run in a sandbox of namespaces."""
    bundled_only: bool = False
    """Whether it only runs the bundled engine: it has no sandbox, and its owner does not allow
    other people's code without one."""


NO_CLAIMS = ClaimedAbilities()


class WorkerInfo(Struct, frozen=True, gc=False, kw_only=True):
    """A machine as its worker describes it in every call except request_version."""

    uname: Phrase
    """The operating system and its release."""
    architecture: tuple[Word, Word]
    """The architecture in Python's words, such as 64bit and ELF."""
    cores: Cores = field(name="concurrency")
    memory: Count = field(name="max_memory")
    min_threads: Cores
    user: Word = field(name="username")
    version: Count
    python_version: Triple
    gcc_version: Triple
    compiler: Word
    key: UniqueKey = field(name="unique_key")
    modified: bool
    arch: Word = field(name="worker_arch")
    engine_arch: Phrase = field(name="ARCH")
    nps: Amount
    near_github_limit: bool = field(name="near_github_api_limit")
    rookery: ClaimedAbilities | UnsetType = UNSET


@dataclass(frozen=True, slots=True)
class Abilities:
    """The abilities that decide whether a worker meets a run's needs; many workers share one
    value."""

    rookery: bool = False
    recipes: frozenset[str] = frozenset({"stockfish"})
    system: str = ""
    cpu_flags: frozenset[str] = frozenset()
    tools: tuple[tuple[str, Version], ...] = ()
    syzygy_men: int = 0
    variants: frozenset[str] = frozenset()
    teams: frozenset[str] = frozenset()
    sandbox: bool = False
    noisy: bool = False

    def tool_version(self, name: str) -> Version | None:
        return dict(self.tools).get(name)


OFFICIAL = Abilities()
"""The classic set: every worker that sends no extension has exactly this."""


def abilities_of(
    claimed: ClaimedAbilities | UnsetType, teams: frozenset[str] = frozenset()
) -> Abilities:
    """Return the abilities of a worker, from its own claims and its owner's teams."""
    if claimed is UNSET:
        return OFFICIAL
    return Abilities(
        rookery=True,
        recipes=frozenset({BUNDLED}) if claimed.bundled_only else ROOKERY_RECIPES,
        system=claimed.system,
        cpu_flags=frozenset(claimed.cpu_flags),
        tools=tuple((name, read_version(text)) for name, text in sorted(claimed.tools.items())),
        syzygy_men=claimed.syzygy_men,
        variants=ROOKERY_VARIANTS,
        teams=teams,
        sandbox=claimed.sandbox,
        noisy=claimed.noisy,
    )


class Profile(NamedTuple):
    """Everything that decides which runs a machine may play; many machines share one value."""

    cores: int
    memory: int
    min_threads: int
    arch: str
    compiler: str
    abilities: Abilities
    only: frozenset[str]
    focus: frozenset[str]


class Machine(WorkerInfo, frozen=True, gc=True, kw_only=True, omit_defaults=True, dict=True):
    """One worker process: its description in its last call, and what the server knows of it.

    A task's row contains it in encoded form. Values derived from it are cached in it, since every
    call needs them and the description seldom changes.
    """

    address: str = ""
    country: str = "?"
    teams: frozenset[str] = frozenset()
    """The teams of its owner."""
    near_api_limit: bool = False
    """Whether it has few GitHub calls left, on a server where that matters."""
    seal: str = ""
    """A keyed digest of its credentials, by which they are recognised after a restart of the
    server."""

    def __repr__(self) -> str:
        return f"Machine({self.long_name})"

    @cached_property
    def short_name(self) -> str:
        """The name of the machine, the same over restarts; the key identifies the process."""
        return f"{self.user}-{self.cores}cores-{self.key.split('-', 1)[0]}"

    @cached_property
    def encoded(self) -> bytes:
        """The machine as JSON, cached because it is published repeatedly while the machine
        waits."""
        return encode(self)

    @cached_property
    def abilities(self) -> Abilities:
        return abilities_of(self.rookery, self.teams)

    @property
    def claimed(self) -> ClaimedAbilities:
        """Its claims beyond an official worker's; empty for an official one."""
        return NO_CLAIMS if self.rookery is UNSET else self.rookery

    @property
    def long_name(self) -> str:
        return long_name(self.user, self.cores, self.key, modified=self.modified)

    @cached_property
    def profile(self) -> Profile:
        return Profile(
            self.cores,
            self.memory,
            self.min_threads,
            self.arch,
            self.compiler,
            self.abilities,
            frozenset(self.claimed.only),
            frozenset(self.claimed.focus),
        )

    @property
    def pace_class(self) -> str:
        """The class of machines that take about equally long for a game."""
        octave = round(2 * math.log2(self.nps)) if self.nps >= 1 else "?"
        return f"{self.arch}/{octave}"


def long_name(user: str, cores: int, key: str, *, modified: bool) -> str:
    """Return the name of a worker process; a star marks a worker with modified files."""
    return "-".join([f"{user}-{cores}cores", *key.split("-")[:2]]) + ("*" if modified else "")
