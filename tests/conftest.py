"""What every test tier shares."""

import gc
import os

import pytest

from tests.detection import may_block_the_loop, pytest_runtest_protocol, violations

__all__ = ["may_block_the_loop", "pytest_runtest_protocol", "violations"]


def pytest_collection_finish() -> None:
    """What was imported stays: no collection of garbage need look at it again and again."""
    gc.collect()
    gc.freeze()


def pytest_configure() -> None:
    """Tests that were to run on the other HTTP server must not pass on uvicorn unnoticed."""
    if os.environ.get("ROOKERY_HTTP") == "mongoose":
        from rookery.web.on_mongoose import unavailable

        if (why := unavailable()) is not None:
            pytest.exit(f"ROOKERY_HTTP=mongoose: {why}", returncode=1)
