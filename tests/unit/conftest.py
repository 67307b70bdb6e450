"""What the unit tests share: async tests run on asyncio, and property tests try few examples."""

import pytest
from hypothesis import settings

settings.register_profile("unit", settings.get_profile("tests"), max_examples=25)
settings.load_profile("unit")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
