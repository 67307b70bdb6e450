"""An office: a served app whose desk the tests can look behind."""

from collections.abc import AsyncIterator

import pytest

from tests.wire.worker.office import Office, open_office


@pytest.fixture
async def office() -> AsyncIterator[Office]:
    async with open_office() as opened:
        yield opened
