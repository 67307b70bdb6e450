"""Engine records as the core reads them, and those that every installation knows."""

from collections.abc import Iterable

from rookery.core import engine as core
from rookery.core.machine import BUNDLED, version
from rookery.protocol.engine_record import (
    BenchRecord,
    EngineRecord,
    MemoryRecord,
    NetRecord,
    RecipeRecord,
    SpeedRecord,
    ToolRecord,
)

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
