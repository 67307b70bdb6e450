"""An engine record as people write it, files keep it and workers are told it.

The core knows what of it decides who may play; a worker reads the rest: how to fetch, build, bench
and start the engine.
"""

from collections.abc import Iterable
from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from rookery.model import engine as core
from rookery.model.bounds import Amount, Count, Paragraph, Phrase, Word, Words
from rookery.model.machine import BUNDLED, version
from rookery.protocol.codec import Reader

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

    reference: Amount | None = None
    floor: Amount = 0.0
    relief: Amount = 0.0


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


# Engine records as the core reads them, and those that every installation knows.

STOCKFISH = EngineRecord(
    name=core.STOCKFISH.name,
    source=core.STOCKFISH.source,
    recipe=RecipeRecord(kind="stockfish", directory="src"),
    tools=(ToolRecord("make"),),
    memory=MemoryRecord(machine=444, process=151, thread=31),
    speed=SpeedRecord(reference=628_000, floor=180_000, relief=3.0),
    bench=BenchRecord(command="bench 16 1 13 default depth", pattern=r"Nodes searched\s*:\s*(\d+)"),
    nets=NetRecord(use="embedded", pattern=r"nn-[0-9a-f]{12}\.nnue"),
)
FLEDGLING = EngineRecord(
    name="Fledgling",
    recipe=RecipeRecord(kind="installed", output="rookery-fledgling", portable=True),
    memory=MemoryRecord(machine=128, process=96, thread=0),
    speed=SpeedRecord(reference=40_000),
)
# Of a program that somebody uploaded nothing is known but its bytes.
UPLOADED = EngineRecord(name=core.UPLOADED.name, bench=BenchRecord(must_match=False))
BUILT_IN = (STOCKFISH, FLEDGLING, UPLOADED)
BUNDLED_COMMAND = FLEDGLING.recipe.output


def is_bundled(record: EngineRecord) -> bool:
    """Whether it is played by the engine of our own package, whatever the record's name."""
    # By blanks alone, as a shell parts words too: nothing else may pass for our own command.
    command = record.recipe.output.split(" ")[0]
    return record.recipe.kind == "installed" and command == BUNDLED_COMMAND


def catalogue_of(records: Iterable[EngineRecord]) -> core.Catalogue:
    return core.Catalogue({record.name: engine_of(record) for record in records})


def engine_of(record: EngineRecord) -> core.Engine:
    """What of a record decides who may play."""
    return core.Engine(
        name=record.name,
        source=core.source_address(record.source),
        recipe=BUNDLED if is_bundled(record) else record.recipe.kind,
        tools=tuple(core.Tool(tool.name, version(tool.version)) for tool in record.tools),
        cpu_flags=frozenset(record.cpu_flags),
        systems=frozenset(record.systems),
        memory=_memory(record.memory),
        speed=_speed(record.speed),
        bench=_bench(record.bench),
        nets=core.NetUse(record.nets.use),
        net_pattern=record.nets.pattern,
        team=record.team,
        private=record.private,
        sandboxed=record.sandboxed,
        presets=tuple(
            core.Preset(preset.name, tuple(preset.settings.items())) for preset in record.presets
        ),
        share=record.share,
    )


def _memory(record: MemoryRecord) -> core.Memory:
    return core.Memory(record.machine, record.process, record.thread)


def _speed(record: SpeedRecord) -> core.Speed:
    return core.Speed(record.reference, record.floor, record.relief)


def _bench(record: BenchRecord) -> core.Bench:
    return core.Bench(record.command, record.pattern, record.must_match)
