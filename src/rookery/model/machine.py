"""Machines: what a worker says of itself, what it can do, and the names it goes by.

An official worker can do exactly the classic set. A Rookery worker says more about itself in its
extension, and the difference decides which runs it may be given.
"""

import math
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, NamedTuple

from msgspec import UNSET, Meta, Struct, UnsetType, field
from msgspec.json import encode

from rookery.model.bounds import (
    Amount,
    Cores,
    Count,
    Phrase,
    Triple,
    UniqueKey,
    Word,
    Words,
)
from rookery.model.engine import BUNDLED, Version, read_version

SHORT_NAME = re.compile(r"[A-Za-z0-9]{2,50}-[0-9]{1,5}cores-[0-9a-zA-Z]{2,8}", re.ASCII)
"""User, cores and the first part of the key: the name of a machine over restarts of its worker."""
ROOKERY_RECIPES = frozenset(
    {"stockfish", "make", "cargo", "cmake", "commands", "installed", BUNDLED}
)
ROOKERY_VARIANTS = frozenset({"standard", "chess960"})

Men = Annotated[int, Meta(ge=0, le=8)]
Tools = Annotated[dict[Word, Word], Meta(max_length=200)]


class ClaimedAbilities(Struct, frozen=True, gc=False, omit_defaults=True):
    """What a Rookery worker says beyond an official one; sent to a Rookery server only."""

    version: Word = ""
    system: Word = field(default="", name="os")
    cpu: Phrase = ""
    """The processor's name."""
    cpu_flags: Words = field(default=(), name="flags")
    physical_cores: Count = 0
    numa: Count = 0
    tools: Tools = field(default_factory=dict)
    """Programs that engines are built with, and their versions."""
    runner: Word = ""
    syzygy_men: Men = 0
    noisy: bool = False
    focus: Words = ()
    only: Words = ()
    host: Word = ""
    sandbox: bool = False
    """Engines are kept in namespaces."""
    bundled_only: bool = False
    """There is no sandbox, and its owner lets no stranger's code run without one."""


NO_CLAIMS = ClaimedAbilities()


class WorkerInfo(Struct, frozen=True, gc=False, kw_only=True):
    """A machine in its worker's words: every call but request_version carries them."""

    uname: Phrase
    """The operating system and its release."""
    architecture: tuple[Word, Word]
    """Such as 64bit and ELF."""
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
    """What decides whether a worker meets a run's needs; many workers share one value."""

    rookery: bool = False
    recipes: frozenset[str] = frozenset({"stockfish"})
    system: str = ""
    cpu_flags: frozenset[str] = frozenset()
    tools: tuple[tuple[str, Version], ...] = ()
    syzygy_men: int = 0
    variants: frozenset[str] = frozenset()
    teams: frozenset[str] = frozenset()
    sandbox: bool = False

    def tool_version(self, name: str) -> Version | None:
        return dict(self.tools).get(name)


OFFICIAL = Abilities()
"""The classic set: every worker that sends no extension has exactly this."""


def abilities_of(
    claimed: ClaimedAbilities | UnsetType, teams: frozenset[str] = frozenset()
) -> Abilities:
    """The abilities of a worker, from what it says of itself and its owner's teams."""
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
    )


class Profile(NamedTuple):
    """All that decides which runs a machine may play; many machines share one."""

    cores: int
    memory: int
    min_threads: int
    arch: str
    compiler: str
    abilities: Abilities
    only: frozenset[str]
    focus: frozenset[str]


class Machine(WorkerInfo, frozen=True, gc=True, kw_only=True, omit_defaults=True, dict=True):
    """One worker process: its words in its last call, and what the server knows of it.

    A task's row holds its encoding. What is worked out of it is kept with it, since a machine is
    looked at in every call and seldom says anything new.
    """

    address: str = ""
    country: str = "?"
    teams: frozenset[str] = frozenset()
    """Those that its owner is in."""
    near_api_limit: bool = False
    """It has few calls to GitHub left, and this server minds."""
    seal: str = ""
    """A keyed digest of the credentials it came with, by which they are known after a restart."""

    def __repr__(self) -> str:
        return f"Machine({self.long_name})"

    @cached_property
    def short_name(self) -> str:
        """The same over restarts: it names the machine, the key names the process."""
        return f"{self.user}-{self.cores}cores-{self.key.split('-', 1)[0]}"

    @cached_property
    def encoded(self) -> bytes:
        """As JSON, kept because it is published again and again while the machine waits."""
        return encode(self)

    @cached_property
    def abilities(self) -> Abilities:
        return abilities_of(self.rookery, self.teams)

    @property
    def claimed(self) -> ClaimedAbilities:
        """What it says beyond an official worker; nothing where it is one."""
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
        """Machines of one class take about equally long over a game."""
        octave = round(2 * math.log2(self.nps)) if self.nps >= 1 else "?"
        return f"{self.arch}/{octave}"


def long_name(user: str, cores: int, key: str, *, modified: bool) -> str:
    """The name of a machine's process; a star marks a worker whose files were changed."""
    return "-".join([f"{user}-{cores}cores", *key.split("-")[:2]]) + ("*" if modified else "")
