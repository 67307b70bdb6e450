"""Engine records with every version that was ever written, as rows."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from rookery.db.table import Table
from rookery.model.engine import EngineRecord
from rookery.protocol.codec import encode


@dataclass(frozen=True, slots=True)
class KeptEngine:
    """A record with who wrote it when; a removed one is known to its old runs only."""

    record: EngineRecord
    changed: datetime
    changed_by: str
    removed: bool = False
    version: int = 0
    """Given by the rows, from 1 on."""


class EngineRows(Table):
    """Each change is told to all processes."""

    async def everything(self) -> tuple[KeptEngine, ...]:
        return await self._many(_engine, "engines_all")

    async def save(self, engine: KeptEngine) -> None:
        """Keeps the engine as it is from now on, under the next version."""
        name, text = engine.record.name, encode(engine.record).decode()
        row = (name, text, engine.changed, engine.changed_by, engine.removed)
        async with self._writing() as write:
            await write("engines_save", *row)
            await write("engine_versions_add", *row)
            await write("engines_changed", name)

    async def versions(self, name: str) -> tuple[KeptEngine, ...]:
        """All that was ever written of an engine, the oldest first."""
        return await self._many(_engine, "engine_versions_of", name)


def _engine(record: str, **row: Any) -> KeptEngine:
    return KeptEngine(msgspec.json.decode(record, type=EngineRecord), **row)
