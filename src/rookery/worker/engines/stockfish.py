"""Stockfish's record, for tasks that name no other engine."""

from rookery.protocol.engine_record import (
    BenchRecord,
    EngineRecord,
    MemoryRecord,
    NetRecord,
    RecipeRecord,
    SpeedRecord,
    ToolRecord,
)

STOCKFISH_RECORD = EngineRecord(
    name="Stockfish",
    source="https://github.com/official-stockfish/Stockfish",
    recipe=RecipeRecord(kind="stockfish"),
    tools=(ToolRecord("make"),),
    memory=MemoryRecord(machine=444, process=151, thread=31),
    speed=SpeedRecord(reference=628_000.0, floor=180_000.0, relief=3.0),
    bench=BenchRecord(
        command="bench 16 1 13 default depth",
        pattern=r"Nodes searched\s*:\s*(\d+)\s*Nodes/second\s*:\s*(\d+)",
    ),
    nets=NetRecord(use="embedded", pattern=r"nn-[0-9a-f]{12}\.nnue"),
)
