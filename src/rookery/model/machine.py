"""Machines: what a worker offers, what it can do, and the names it goes by.

An official worker can do exactly the classic set. A Rookery worker says more about itself in its
extension, and the difference decides which runs it may be given.
"""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from rookery.model.engine import BUNDLED, Version, read_version

SHORT_NAME = re.compile(r"[A-Za-z0-9]{2,50}-[0-9]{1,5}cores-[0-9a-zA-Z]{2,8}", re.ASCII)
"""User, cores and the first part of the key: the name of a machine over restarts of its worker."""
ROOKERY_RECIPES = frozenset(
    {"stockfish", "make", "cargo", "cmake", "commands", "installed", BUNDLED}
)
ROOKERY_VARIANTS = frozenset({"standard", "chess960"})


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a worker's software and machine can do beyond playing Stockfish-shaped runs."""

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


def rookery_abilities(
    *,
    system: str,
    cpu_flags: Iterable[str] = (),
    tools: Mapping[str, str] | None = None,
    syzygy_men: int = 0,
    teams: Iterable[str] = (),
    sandbox: bool = False,
    bundled_only: bool = False,
) -> Abilities:
    """The abilities of a worker of ours, from what it says of itself and its owner's teams."""
    return Abilities(
        rookery=True,
        recipes=frozenset({BUNDLED}) if bundled_only else ROOKERY_RECIPES,
        system=system,
        cpu_flags=frozenset(cpu_flags),
        tools=tuple((name, read_version(text)) for name, text in sorted((tools or {}).items())),
        syzygy_men=syzygy_men,
        variants=ROOKERY_VARIANTS,
        teams=frozenset(teams),
        sandbox=sandbox,
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


@dataclass(frozen=True, slots=True)
class Machine:
    """One worker process, as it described itself in its last call."""

    user: str
    key: str
    cores: int
    memory: int
    min_threads: int = 1
    arch: str = "unknown"
    compiler: str = "g++"
    nps: float = 0.0
    near_api_limit: bool = False
    modified: bool = False
    address: str = ""
    country: str = "?"
    host: str = ""
    noisy: bool = False
    abilities: Abilities = OFFICIAL
    only: frozenset[str] = frozenset()
    focus: frozenset[str] = frozenset()
    cpu: str = field(default="", compare=False)
    """The processor's name; official workers do not tell it."""
    uname: str = field(default="", compare=False)
    """The operating system and its release."""
    details: str = field(default="", compare=False)
    """The worker's own words about itself, kept for display and never read here."""
    seal: str = field(default="", compare=False, repr=False)
    """A keyed digest of the credentials it came with, by which they are known after a restart."""

    short_name: str = field(init=False)
    """The same over restarts: it names the machine, the key names the process."""

    def __post_init__(self) -> None:
        # Looked up at every call, so that it is put together once.
        name = f"{self.user}-{self.cores}cores-{self.key.split('-', 1)[0]}"
        object.__setattr__(self, "short_name", name)

    @property
    def long_name(self) -> str:
        second = self.key.split("-")[1:2]
        return "-".join([self.short_name, *second]) + ("*" if self.modified else "")

    @property
    def profile(self) -> Profile:
        return Profile(
            self.cores,
            self.memory,
            self.min_threads,
            self.arch,
            self.compiler,
            self.abilities,
            self.only,
            self.focus,
        )

    @property
    def pace_class(self) -> str:
        """Machines of one class take about equally long over a game."""
        octave = round(2 * math.log2(self.nps)) if self.nps >= 1 else "?"
        return f"{self.arch}/{octave}"
