"""An engine record as people write it, files keep it and workers are told it.

The core knows what of it decides who may play; a worker reads the rest: how to fetch, build, bench
and start the engine.
"""

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from rookery.protocol.decoding import Reader
from rookery.protocol.fields import Count, Paragraph, Phrase, Speed, Word, Words

LARGEST_RECORD = 2**20

RecipeKind = Literal["make", "stockfish", "cargo", "cmake", "commands", "installed"]
NetUse = Literal["none", "embedded", "build_variable", "uci_option"]
Variables = Annotated[dict[Word, Phrase], Meta(max_length=100)]
Commands = Annotated[tuple[Phrase, ...], Meta(max_length=50)]
Name = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=111,
        pattern=r"^([A-Za-z0-9][A-Za-z0-9_-]{1,49}~)?[A-Za-z0-9][A-Za-z0-9 ._+-]{0,59}\Z",
    ),
]
"""Names that begin with a team's name and `~` are for that team alone, so that nobody learns from
a refusal which of them are taken."""


class RecipeRecord(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """How a source tree becomes a program.

    `make` is OpenBench's (`make EXE= [CC=|CXX=] [EVALFILE=]`), `stockfish` that of Stockfish's
    Makefile, `commands` are run one after the other, `installed` builds nothing: `output` is a
    command on the worker.
    """

    kind: RecipeKind = "make"
    directory: Phrase = ""
    target: Word = ""
    variables: Variables = field(default_factory=dict)
    commands: Commands = ()
    output: Phrase = ""
    compilers: Words = ()
    portable: bool = False
    """A binary may be shared between machines of one operating system."""


class ToolRecord(Struct, frozen=True, gc=False, omit_defaults=True):
    """A program a build needs; `version` is the least one, empty for any."""

    name: Word
    version: Word = ""


class MemoryRecord(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """MiB that playing takes, see the core's `Memory`."""

    machine: Count = 284
    process: Count = 64
    thread: Count = 16


class SpeedRecord(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """Nodes per second and thread; without a reference that of the machines seen so far."""

    reference: Speed | None = None
    floor: Speed = 0.0
    relief: Speed = 0.0


class BenchRecord(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """How the engine counts nodes: words on its command line, and what to look for in the text.

    Without a pattern the usual forms are looked for, see the worker's `bench`.
    """

    command: Phrase = "bench"
    pattern: Phrase = ""
    must_match: bool = True


class NetRecord(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """How networks are handed over; `name` is the build variable or the UCI option."""

    use: NetUse = "none"
    name: Word = ""
    pattern: Phrase = ""
    default: Word = ""


class PresetRecord(Struct, frozen=True, gc=False, omit_defaults=True):
    """Named settings of a test, by the names of a submission."""

    name: Phrase
    settings: Annotated[dict[Word, Paragraph], Meta(max_length=100)] = field(default_factory=dict)


class EngineRecord(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """All that belongs to an engine and not to the platform."""

    name: Name
    source: Phrase = ""
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
    """Given only to workers that keep engines in namespaces."""
    presets: Annotated[tuple[PresetRecord, ...], Meta(max_length=100)] = ()
    share: Annotated[float, Meta(gt=0, le=1000)] = 1.0


ENGINE_RECORD = Reader(EngineRecord, most_bytes=LARGEST_RECORD)
