"""Engines that need no building."""

import shutil
import sys
from pathlib import Path

import pytest

from rookery.model.engine import EngineRecord, RecipeRecord
from rookery.worker.engines.orders import BuildFailed, EngineOrder
from rookery.worker.engines.programs import NoIntroduction
from rookery.worker.engines.workshop import describe_trouble, find_installed, linked_folders


def order(output: str) -> EngineOrder:
    recipe = RecipeRecord(kind="installed", output=output)
    return EngineOrder(EngineRecord(name="Any", recipe=recipe), commit="", repository="")


def test_the_bundled_engine_is_run_by_this_python() -> None:
    assert find_installed(order("rookery-fledgling")).command == (
        sys.executable,
        "-m",
        "rookery.match.fledgling",
    )


def test_a_command_is_looked_for_on_the_path() -> None:
    assert find_installed(order("sh -c true")).command == (shutil.which("sh"), "-c", "true")


def test_modules_that_are_links_are_found_where_they_lie(tmp_path: Path) -> None:
    package, real = tmp_path / "package", tmp_path / "real"
    package.mkdir()
    real.mkdir()
    (real / "there.py").touch()
    (package / "here.py").touch()
    (package / "there.py").symlink_to(real / "there.py")
    assert linked_folders(package) == (real,)


def test_a_bundled_engine_that_does_not_start_is_told_with_its_last_word() -> None:
    said = "> uci\n! Traceback\n! ModuleNotFoundError: No module named 'chess'"
    assert describe_trouble(NoIntroduction("it ended", said)) == (
        "the bundled engine does not start here: ModuleNotFoundError: No module named 'chess'"
    )


@pytest.mark.parametrize("output", ["no-such-engine-here", "", "open 'quote"])
def test_a_command_that_is_not_here_is_a_failure_of_this_machine(output: str) -> None:
    with pytest.raises(BuildFailed, match="which is not installed") as failed:
        find_installed(order(output))
    assert failed.value.blame == "machine"
