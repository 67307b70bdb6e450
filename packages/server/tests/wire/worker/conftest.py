"""A served farm that tests can look into."""

from collections.abc import AsyncIterator

import pytest

from tests.wire.worker.farm import ServedFarm, open_farm


@pytest.fixture
async def farm() -> AsyncIterator[ServedFarm]:
    async with open_farm() as opened:
        yield opened
