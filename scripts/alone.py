"""Runs the tests of one package with nothing on the path but what its own pyproject.toml names.

In .venv all packages of Rookery can be imported; without them, a test of the worker that needs the
server fails. `python scripts/alone.py worker -q` takes pytest's words after the package's name.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def strip(path: Sequence[str]) -> list[str]:
    """A path of imports without the sources of this checkout."""
    return [each for each in path if not Path(each).resolve().is_relative_to(ROOT / "packages")]


def main(package: str, *words: str) -> int:
    sys.path[:] = strip(sys.path)
    # Processes that tests start get their path from the test.
    os.environ.pop("PYTHONPATH", None)
    os.chdir(ROOT / "packages" / package)
    return pytest.main([*words, "tests"])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
