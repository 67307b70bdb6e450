"""Engine records: the numbers and habits that belong to an engine and not to the platform."""

import enum
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

Version = tuple[int, ...]
_SHORT = re.compile(r"((?:[\w.-]+@)?[A-Za-z0-9][A-Za-z0-9.-]+):/*([^/\\].*)", re.ASCII)
_USUAL_PORTS = {"http": ":80", "https": ":443", "ssh": ":22", "git": ":9418"}


def source_address(text: str) -> str:
    """The one form of a repository's address, so that two which mean the same are the same.

    Capitals in the host, a port that goes without saying, `.git` and slashes at the end make no
    difference, nor does git's short form `account@host:path`. What is no address stays as it is.
    """
    text = text.strip()
    if "://" not in text and (short := _SHORT.fullmatch(text)):
        text = f"ssh://{short[1]}/{short[2]}"
    scheme, mark, rest = text.partition("://")
    if not mark:
        return text
    host, _, path = rest.partition("/")
    scheme = scheme.lower()
    host = host.lower().removesuffix(_USUAL_PORTS.get(scheme, "-"))
    path = re.sub("/{2,}", "/", path).strip("/")
    while path.endswith(".git"):
        path = path.removesuffix(".git").rstrip("/")
    host = "github.com" if host == "www.github.com" else host
    return f"{scheme}://{host}/{path}" if path else f"{scheme}://{host}"


class NetUse(enum.StrEnum):
    """How an engine is given its network."""

    EMBEDDED = "embedded"
    BUILD_VARIABLE = "build_variable"
    UCI_OPTION = "uci_option"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Tool:
    """A program a build needs, in at least that version; () for any."""

    name: str
    version: Version = ()


@dataclass(frozen=True, slots=True)
class Bench:
    """How the engine counts nodes, and whether its count must match the one of the commit."""

    command: str = "bench"
    pattern: str = ""
    must_match: bool = True


@dataclass(frozen=True, slots=True)
class Memory:
    """MiB that playing takes: once per machine, and per engine process beside its hash table."""

    machine: int = 284
    process: int = 64
    thread: int = 16


@dataclass(frozen=True, slots=True)
class Speed:
    """Nodes per second and thread: what times are scaled to, and what is too slow to play.

    Without a reference the median of the machines seen so far is frozen into each new run.
    """

    reference: float | None = None
    floor: float = 0.0
    relief: float = 0.0

    def least(self, cores: int) -> float:
        """The floor for a machine; many busy cores share caches and may be slower each."""
        return self.floor / (1 + self.relief * math.tanh((cores - 1) / 8))


@dataclass(frozen=True, slots=True)
class Preset:
    """Named settings of a test, as name and value."""

    name: str
    settings: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Engine:
    """What Rookery knows about an engine; `share` weighs it against the other engines."""

    name: str
    source: str = ""
    recipe: str = "make"
    tools: tuple[Tool, ...] = ()
    cpu_flags: frozenset[str] = frozenset()
    systems: frozenset[str] = frozenset()
    memory: Memory = Memory()
    speed: Speed = Speed()
    bench: Bench = Bench()
    nets: NetUse = NetUse.NONE
    net_pattern: str = ""
    team: str = ""
    private: bool = False
    sandboxed: bool = False
    presets: tuple[Preset, ...] = ()
    share: float = 1.0


STOCKFISH = Engine(
    name="Stockfish",
    source="https://github.com/official-stockfish/Stockfish",
    recipe="stockfish",
    tools=(Tool("make"),),
    # 444: 220 runner and book, 2 * 80 binaries, 64 Python; a process 12 + 139, and 31 a thread.
    memory=Memory(machine=444, process=151, thread=31),
    speed=Speed(reference=628_000, floor=180_000, relief=3.0),
    bench=Bench("bench 16 1 13 default depth", r"Nodes searched\s*:\s*(\d+)"),
    nets=NetUse.EMBEDDED,
    net_pattern=r"nn-[0-9a-f]{12}\.nnue",
)

UPLOADED = Engine(name="uploaded", bench=Bench(must_match=False))
"""A program of which only its bytes are known: whoever uploads one need not write a record."""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The engines an installation knows, by name; an unknown one gets a modest record."""

    engines: Mapping[str, Engine]

    def record(self, name: str) -> Engine:
        return self.engines.get(name) or Engine(name=name)


STANDARD = Catalogue({engine.name: engine for engine in (STOCKFISH, UPLOADED)})


def time_factor(reference_nps: float, machine_nps: float) -> float:
    """How much longer this machine thinks than the reference; 1 where its speed is unknown."""
    return reference_nps / machine_nps if machine_nps > 0 else 1.0


PROGRAM_HEADS = (
    b"\x7fELF",
    b"MZ",
    b"#!",
    *(b"\xfe\xed\xfa\xce", b"\xfe\xed\xfa\xcf", b"\xce\xfa\xed\xfe", b"\xcf\xfa\xed\xfe"),
    b"\xca\xfe\xba\xbe",
)
"""How programs begin: Linux's, Windows's, scripts, macOS's for one processor and for several."""


def is_program(head: bytes) -> bool:
    """Whether a file that begins so can be executed by some system."""
    return head.startswith(PROGRAM_HEADS)
