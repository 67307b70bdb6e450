"""Engines that need no building."""

import shutil
import sys

import pytest

from rookery.protocol.engine_record import EngineRecord, RecipeRecord
from rookery.worker.engines.installed import installed
from rookery.worker.engines.order import BuildFailed, Order


def order(output: str) -> Order:
    recipe = RecipeRecord(kind="installed", output=output)
    return Order(EngineRecord(name="Any", recipe=recipe), commit="", repository="")


def test_the_bundled_engine_is_run_by_this_python() -> None:
    assert installed(order("rookery-fledgling")).command == (
        sys.executable,
        "-m",
        "rookery.engine",
    )


def test_a_command_is_looked_for_on_the_path() -> None:
    assert installed(order("sh -c true")).command == (shutil.which("sh"), "-c", "true")


@pytest.mark.parametrize("output", ["no-such-engine-here", "", "open 'quote"])
def test_a_command_that_is_not_here_is_a_failure_of_this_machine(output: str) -> None:
    with pytest.raises(BuildFailed, match="not here") as failed:
        installed(order(output))
    assert failed.value.whose == "machine"
