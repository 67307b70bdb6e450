"""What tests/detection.py offers, where there is no server to detect anything with."""

import pytest


@pytest.fixture
def may_block_the_loop() -> None:
    """Nothing is switched on that this could switch off."""
