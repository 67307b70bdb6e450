"""A fleet on twins, opened, with one approved run to play."""

from collections.abc import AsyncIterator

import pytest

from tests.unit.farm.stage import Stage, on_stage


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with on_stage() as opened:
        yield opened
