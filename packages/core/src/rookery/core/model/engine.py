"""Engine records: everything that is specific to an engine and not to the platform."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from rookery.core.model.bounds import Amount, Count, Paragraph, Phrase, Word, Words

Version = tuple[int, ...]
_SHORT = re.compile(r"((?:[\w.-]+@)?[A-Za-z0-9][A-Za-z0-9.-]+):/*([^/\\].*)", re.ASCII)
_USUAL_PORTS = {"http": ":80", "https": ":443", "ssh": ":22", "git": ":9418"}


def source_address(text: str) -> str:
    """Return the normal form of a repository's address, so that equivalent addresses are equal.

    Ignored are capitals in the host, the default port, and `.git` and slashes at the end; git's
    short form `account@host:path` is expanded. A text that is no address is returned unchanged.
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


def read_version(text: str) -> Version:
    """Return the numbers of a version in a tool's output; () if there are none."""
    found = re.search(r"\d{1,9}(\.\d{1,9}){0,5}", text)
    return tuple(map(int, found[0].split("."))) if found else ()


RecipeKind = Literal["make", "stockfish", "cargo", "cmake", "commands", "installed"]
NetUse = Literal["none", "embedded", "build_variable", "uci_option"]
Variables = Annotated[dict[Word, Phrase], Meta(max_length=100)]
Commands = Annotated[tuple[Phrase, ...], Meta(max_length=50)]
EngineName = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=111,
        pattern=r"^([A-Za-z0-9][A-Za-z0-9_-]{1,49}~)?[A-Za-z0-9][A-Za-z0-9 ._+-]{0,59}\Z",
    ),
]
"""The name of an engine. Names that begin with a team's name and `~` are reserved for that team, so
that a refusal does not reveal which of them are taken."""
BranchName = Annotated[
    str, Meta(max_length=100, pattern=r"^([A-Za-z0-9_][A-Za-z0-9_./+@#=,-]*)?\Z")
]
BUNDLED = "bundled"
"""The recipe of the engine that is part of every worker of ours: it runs no other people's code."""
BUNDLED_COMMAND = "rookery-fledgling"


class RecipeRecord(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """How a program is built from a source tree.

    `make` is OpenBench's way (`make EXE= [CC=|CXX=] [EVALFILE=]`), `stockfish` that of Stockfish's
    Makefile, `commands` runs commands one after the other, and `installed` builds nothing: `output`
    is a command on the worker.
    """

    kind: RecipeKind = "make"
    directory: Phrase = ""
    target: Word = ""
    variables: Variables = field(default_factory=dict)
    commands: Commands = ()
    output: Phrase = ""
    compilers: Words = ()
    portable: bool = False
    """Whether a binary may be shared between machines with the same operating system."""


class ToolRecord(Struct, frozen=True, gc=False, omit_defaults=True):
    """A program that a build needs; `version` is the oldest one that works, empty for any."""

    name: Word
    version: Word = ""

    @property
    def least(self) -> Version:
        return read_version(self.version)


class MemoryRecord(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """The memory that playing takes in MiB: once per machine, and per engine process besides its
    hash table."""

    machine: Count = 284
    process: Count = 64
    thread: Count = 16


class SpeedRecord(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """Nodes per second and thread: the reference to which times are scaled, and the least to play.

    Without a reference, each new run stores the median of the machines seen so far.
    """

    reference: Amount | None = None
    floor: Amount = 0.0
    relief: Amount = 0.0

    def least(self, cores: int) -> float:
        """Return the least speed for a machine with so many cores; busy cores share caches and may
        be slower."""
        return self.floor / (1 + self.relief * math.tanh((cores - 1) / 8))


class BenchRecord(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """How the engine counts nodes: the arguments of its command line, and the pattern of the count.

    Without a pattern the usual forms are searched for (see the worker's `bench`). `must_match` says
    whether the count must equal that of the commit.
    """

    command: Phrase = "bench"
    pattern: Phrase = ""
    must_match: bool = True


NET_FILES = ("src/evaluate.h", "src/evaluate.cpp", "src/nnue/network.h", "src/nnue/nnue_common.h")
"""The files in which engines derived from Stockfish name the nets that they are built with."""


class NetRecord(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """How the engine gets its nets; `name` is the build variable or the UCI option."""

    use: NetUse = "none"
    name: Word = ""
    pattern: Phrase = ""
    default: Word = ""
    files: Annotated[tuple[Phrase, ...], Meta(max_length=20)] = ()
    """The source files that name the nets to build in; `NET_FILES` if empty."""


class PresetRecord(Struct, frozen=True, gc=False, omit_defaults=True):
    """A named set of settings of a test, by the names of a submission's fields."""

    name: Phrase
    settings: Annotated[dict[Word, Paragraph], Meta(max_length=100)] = field(default_factory=dict)


class EngineRecord(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """Everything that is specific to an engine, as people write it, rows store it and workers get
    it. `share` is its weight against the other engines."""

    name: EngineName
    source: Phrase = ""
    branch: BranchName = ""
    """The main branch of its source; empty for the repository's HEAD."""
    recipe: RecipeRecord = RecipeRecord()
    tools: Annotated[tuple[ToolRecord, ...], Meta(max_length=50)] = ()
    cpu_flags: Words = ()
    systems: Words = ()
    memory: MemoryRecord = MemoryRecord()
    speed: SpeedRecord = SpeedRecord()
    bench: BenchRecord = BenchRecord()
    nets: NetRecord = NetRecord()
    team: Word = ""
    private: bool = False
    sandboxed: bool = False
    """Whether only workers that run engines in a sandbox may play it."""
    presets: Annotated[tuple[PresetRecord, ...], Meta(max_length=100)] = ()
    share: Annotated[float, Meta(gt=0, le=1000)] = 1.0
    history: bool = False
    """Whether questions find the commits of its source, which the server then fetches regularly."""

    @property
    def repository(self) -> str:
        """The normal form of its source's address."""
        return source_address(self.source)

    @property
    def is_bundled(self) -> bool:
        """Whether it is the engine that is part of our own package, under any name."""
        # Split at spaces only, as a shell does: no other text may pass for our own command.
        command = self.recipe.output.split(" ")[0]
        return self.recipe.kind == "installed" and command == BUNDLED_COMMAND

    @property
    def needed_recipe(self) -> str:
        """The recipe that a worker must support to get the program."""
        return BUNDLED if self.is_bundled else self.recipe.kind


_UHO = "UHO_Lichess_4852_v1.epd"


def _stockfish_preset(name: str, tc: str, hash_mib: int, **others: str) -> PresetRecord:
    """Return a preset like fishtest's: both sides with the same hash, and no auto-purge."""
    options = f"Hash={hash_mib}"
    common = {"tc": tc, "new_options": options, "base_options": options, "base_tag": "master"}
    usual = {"book": _UHO, "threads": "1", "throughput": "100", "auto_purge": "false"}
    return PresetRecord(name, common | usual | others)


_SHORT_BOUNDS, _LONG_BOUNDS = '{"elo0": 0.0, "elo1": 2.0}', '{"elo0": 0.5, "elo1": 2.5}'
_SIMPLER_BOUNDS = '{"elo0": -1.75, "elo1": 0.25}'
_FIXED = {"num_games": "60000", "new_tag": "master", "base_tag": ""}
"""The settings of a measurement against a release that the submitter names."""
STOCKFISH_PRESETS = (
    _stockfish_preset("STC", "10+0.1", 16, sprt=_SHORT_BOUNDS),
    _stockfish_preset("LTC", "60+0.6", 64, sprt=_LONG_BOUNDS),
    _stockfish_preset("STC SMP", "5+0.05", 64, threads="8", sprt=_SHORT_BOUNDS),
    _stockfish_preset("LTC SMP", "20+0.2", 256, threads="8", sprt=_LONG_BOUNDS),
    _stockfish_preset("STC simplification", "10+0.1", 16, sprt=_SIMPLER_BOUNDS),
    _stockfish_preset("LTC simplification", "60+0.6", 64, sprt=_SIMPLER_BOUNDS),
    _stockfish_preset("VLTC", "180+1.8", 192, throughput="50", sprt=_SHORT_BOUNDS),
    _stockfish_preset("VLTC SMP", "60+0.6", 512, threads="8", throughput="50", sprt=_LONG_BOUNDS),
    _stockfish_preset("regression", "60+0.6", 64, **_FIXED),
    _stockfish_preset("regression SMP", "60+0.6", 512, threads="8", **_FIXED),
    _stockfish_preset(
        "SPSA", "10+0.1", 16, num_games="60000",
        spsa='{"A": 0.1, "alpha": 0.602, "gamma": 0.101}',
    ),
)  # fmt: skip
"""The tests that Stockfish's developers run every day."""

STOCKFISH = EngineRecord(
    name="Stockfish",
    source="https://github.com/official-stockfish/Stockfish",
    recipe=RecipeRecord(kind="stockfish", directory="src"),
    tools=(ToolRecord("make"),),
    # 444 MiB: 220 for runner and book, 2 * 80 for binaries, 64 for Python; a process takes 12 +
    # 139, and 31 per thread.
    memory=MemoryRecord(machine=444, process=151, thread=31),
    speed=SpeedRecord(reference=628_000, floor=180_000, relief=3.0),
    bench=BenchRecord(command="bench 16 1 13 default depth", pattern=r"Nodes searched\s*:\s*(\d+)"),
    nets=NetRecord(use="embedded", pattern=r"nn-[0-9a-f]{12}\.nnue"),
    presets=STOCKFISH_PRESETS,
)
FLEDGLING = EngineRecord(
    name="Fledgling",
    recipe=RecipeRecord(kind="installed", output=BUNDLED_COMMAND, portable=True),
    memory=MemoryRecord(machine=128, process=96, thread=0),
    speed=SpeedRecord(reference=40_000),
)
UPLOADED = EngineRecord(name="uploaded", bench=BenchRecord(must_match=False))
"""The record of an uploaded program, of which only the bytes are known, so that uploading needs no
record."""
BUILT_IN = (STOCKFISH, FLEDGLING, UPLOADED)


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The engines that an installation knows, by name; an unknown one gets a minimal record."""

    engines: Mapping[str, EngineRecord]

    def record(self, name: str) -> EngineRecord:
        return self.engines.get(name) or EngineRecord(name=name)


def catalogue_of(records: Iterable[EngineRecord]) -> Catalogue:
    return Catalogue({record.name: record for record in records})


STANDARD = catalogue_of(BUILT_IN)


def time_factor(reference_nps: float, machine_nps: float) -> float:
    """How much longer this machine thinks than the reference; 1 if its speed is unknown."""
    return reference_nps / machine_nps if machine_nps > 0 else 1.0


PROGRAM_HEADS = (
    b"\x7fELF",
    b"#!",
    *(b"\xfe\xed\xfa\xce", b"\xfe\xed\xfa\xcf", b"\xce\xfa\xed\xfe", b"\xcf\xfa\xed\xfe"),
    b"\xca\xfe\xba\xbe",
)
"""The first bytes of programs: for Linux, scripts, and macOS for one processor and several. There
are no workers for Windows."""


def is_program(head: bytes) -> bool:
    """Whether a system that workers run on can execute a file that begins with `head`."""
    return head.startswith(PROGRAM_HEADS)
