"""Each package's tests run alone: `cd packages/core && ../../.venv/bin/pytest`."""

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from scripts.alone import strip
from scripts.stages import ALONE
from tests.places import PACKAGES, PROJECT


def pytest_options(folder: Path) -> dict[str, Any]:
    options: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text())["tool"]
    found: dict[str, Any] = options["pytest"]["ini_options"]
    return found


@pytest.mark.parametrize("package", PACKAGES, ids=lambda each: each.name)
def test_a_packages_tests_run_as_in_the_project(package: Path) -> None:
    own, all_ = pytest_options(package), pytest_options(PROJECT)
    places = ("pythonpath", "testpaths")
    assert own["addopts"] == [*all_["addopts"], "--confcutdir=../.."]
    assert {name: own[name] for name in own if name not in (*places, "addopts")} == {
        name: all_[name] for name in all_ if name not in (*places, "addopts")
    }


@pytest.mark.parametrize("name", ALONE)
def test_the_tests_of_a_package_see_what_it_depends_on_and_no_more(name: str) -> None:
    package = PROJECT / "packages" / name
    project = tomllib.loads((package / "pyproject.toml").read_text())["project"]
    ours = [each.removeprefix("rookery-") for each in project["dependencies"] if "rookery" in each]
    path = {part for each in ours for part in (f"../{each}", f"../{each}/src")}
    assert set(pytest_options(package)["pythonpath"]) == {"../..", ".", "src", *path}


def test_a_package_alone_is_stripped_of_the_others() -> None:
    kept, other = "/usr/lib/python3", str(PROJECT / "packages" / "server" / "src")
    assert strip([kept, other]) == [kept]


def test_the_tests_of_the_demo_are_found_from_its_folder() -> None:
    """Those of the server and of LlamaIndex run by their own settings in the stages of theirs."""
    command = (sys.executable, "-m", "pytest", "--co", "-q", "-p", "no:schemathesis")
    folder = PROJECT / "packages" / "demo"
    found = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr
    assert "tests/unit/demo/test_seeding.py::" in found.stdout
