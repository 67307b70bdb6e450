"""Engine records with every version that was ever written, as rows."""

from typing import Any

import msgspec

from rookery.db.table import Table
from rookery.model.engine import EngineRecord
from rookery.protocol.codec import encode
from rookery.protocol.v1 import EngineVersion


class EngineRows(Table):
    """Each change is told to all processes."""

    async def list_all(self) -> tuple[EngineVersion, ...]:
        return await self._many(_engine, "engines_all")

    async def save(self, engine: EngineVersion) -> None:
        """Keeps the engine as it is from now on, under the next version."""
        name, text = engine.record.name, encode(engine.record).decode()
        row = (name, text, engine.changed, engine.changed_by, engine.removed)
        async with self._writing() as write:
            await write("engines_save", *row)
            await write("engine_versions_add", *row)
            await write("engines_changed", name)

    async def versions(self, name: str) -> tuple[EngineVersion, ...]:
        """All that was ever written of an engine, the oldest first."""
        return await self._many(_engine, "engine_versions_of", name)


def _engine(record: str, **row: Any) -> EngineVersion:
    return EngineVersion(record=msgspec.json.decode(record, type=EngineRecord), **row)
