"""A fleet on twins, opened, with one approved run to play."""

from collections.abc import AsyncIterator

import pytest

from tests.unit.farm.memory_farm import MemoryFarm, open_memory_farm


@pytest.fixture
async def farm() -> AsyncIterator[MemoryFarm]:
    async with open_memory_farm() as opened:
        yield opened
