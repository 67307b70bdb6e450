"""The configuration that all test tiers share."""

import gc
import os
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Pytest leaves the `..` of its pythonpath in the names of all files that are imported from there.
sys.path[:] = map(os.path.normpath, sys.path)

if find_spec("rookery.server"):
    from tests.detection import may_block_the_loop, pytest_runtest_protocol, violations

    __all__ = ["may_block_the_loop", "pytest_runtest_protocol", "violations"]
else:
    # The tests of a package alone, whose loops the stage `unit` watches (scripts/alone.py).
    from tests.unwatched import may_block_the_loop

    __all__ = ["may_block_the_loop"]

# The same examples each time, and no deadline: a busy machine draws them slowly.
settings.register_profile(
    "tests",
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("tests")
# Unit tests try few examples each.
settings.register_profile("unit", settings.get_profile("tests"), max_examples=25)


def pytest_collection_finish() -> None:
    """Freezes imported objects, so that garbage collection does not traverse them again and
    again."""
    gc.collect()
    gc.freeze()


def pytest_configure(config: pytest.Config) -> None:
    """Makes sure that tests for the other HTTP server don't pass on uvicorn unnoticed."""
    if all("unit" in Path(each).parts for each in config.args):
        settings.load_profile("unit")
    if os.environ.get("ROOKERY_HTTP") == "rookery-asgi":
        from rookery.server.carriers.on_rookery_asgi import why_unavailable

        if (why := why_unavailable()) is not None:
            pytest.exit(f"ROOKERY_HTTP=rookery-asgi: {why}", returncode=1)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
