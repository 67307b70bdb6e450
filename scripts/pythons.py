"""Tries the other Pythons that Rookery is meant for: imports every module and runs the unit tests
whose results depend on the Python most, on each that this machine has.

Environments are kept below .cache until the lock changes. A Python that is not here is named.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tests.places import IMPORTED

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "locks" / "test.txt"
FOLDER = ROOT / ".cache" / "pythons"
NAMED = re.compile(r"Programming Language :: Python :: (3\.\d+)")
TESTS = (
    "packages/core/tests/unit/stats",
    "packages/core/tests/unit/model",
    "packages/server/tests/unit/farm",
)
WITHOUT_THEIR_PACKAGES = frozenset({"rookery.llamaindex.pipeline"})
"""Modules whose packages are those of an extra that the lock of the tests leaves out."""
IMPORT_ALL = """
import importlib, pkgutil, sys, rookery
from tests.places import IMPORTED
from tests.places import IMPORTED
for module in pkgutil.walk_packages(rookery.__path__, "rookery."):
    if module.name not in sys.argv[1:]:
        importlib.import_module(module.name)
"""
PASSED = re.compile(r"(\d+) passed")


def list_named(project: Path = ROOT / "pyproject.toml") -> list[str]:
    """The versions that the project says it runs on."""
    classifiers = tomllib.loads(project.read_text())["project"]["classifiers"]
    return [found[1] for each in classifiers if (found := NAMED.fullmatch(each))]


def list_places(version: str, environment: Mapping[str, str] = os.environ) -> Iterator[str]:
    """Where a Python of this version may be: on the path, or among pyenv's."""
    if on_path := shutil.which(f"python{version}", path=environment.get("PATH", "")):
        yield on_path
    root = environment.get("PYENV_ROOT") or str(Path(environment.get("HOME", "/"), ".pyenv"))
    yield from map(
        str, sorted(Path(root, "versions").glob(f"{version}.*/bin/python"), reverse=True)
    )


def find_python(version: str) -> str | None:
    """The first Python that starts and can make environments; what is on the path may be a mere
    sign of pyenv's."""
    return next(filter(can_make_environments, list_places(version)), None)


def can_make_environments(python: str) -> bool:
    tried = (python, "-c", "import ensurepip, venv")
    return subprocess.run(tried, capture_output=True, check=False).returncode == 0


def make_environment(version: str, python: str) -> str:
    """Makes the environment of a version if needed; returns its Python."""
    folder = FOLDER / version
    stamp, inner = folder / "made-from", str(folder / "bin" / "python")
    wanted = hashlib.sha256(LOCK.read_bytes() + python.encode()).hexdigest()
    if not stamp.exists() or stamp.read_text() != wanted:
        run((python, "-m", "venv", "--clear", str(folder)))
        pip = (inner, "-m", "pip", "install", "--quiet", "--no-compile", "--require-hashes")
        run((*pip, "-r", str(LOCK)))
        stamp.write_text(wanted)
    return inner


def run(command: Sequence[str]) -> str:
    """Runs a command and returns its output; ends the script with it if it fails."""
    source = os.environ | {"PYTHONPATH": IMPORTED}
    ran = subprocess.run(command, cwd=ROOT, env=source, capture_output=True, text=True, check=False)
    if ran.returncode:
        sys.exit(f"{' '.join(command[:6])}\n{ran.stdout}{ran.stderr}")
    return ran.stdout


def try_python(version: str, python: str) -> int:
    """How many tests passed under this Python."""
    inner = make_environment(version, python)
    run((inner, "-c", IMPORT_ALL, *sorted(WITHOUT_THEIR_PACKAGES)))
    words = ("-q", "-p", "no:schemathesis", "-p", "no:cacheprovider")
    passed = PASSED.findall(run((inner, "-m", "pytest", *words, *TESTS)))
    return int(passed[-1])


def try_all() -> Iterator[int]:
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    for version in list_named():
        if version == own:
            print(f"{version}: runs all other stages")
        elif python := find_python(version):
            passed = try_python(version, python)
            print(f"{version}: every module is imported, {passed} tests pass ({python})")
            yield passed
        else:
            print(f"{version}: not here")


if __name__ == "__main__":
    print(f"{sum(try_all())} passed")
