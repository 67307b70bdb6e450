"""The base install: what a worker needs, and nothing of the server."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.checkout import PROJECT

pytestmark = pytest.mark.timeout(300)

SERVER_PACKAGES = ("asyncpg", "argon2", "fastapi", "jinja2", "numpy", "re2", "starlette", "uvicorn")


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment with the base install alone."""
    venv = tmp_path_factory.mktemp("bare") / "venv"
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    pip = [str(venv / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    lock = str(PROJECT / "locks" / "worker.txt")
    subprocess.run([*pip, "--require-hashes", "-r", lock], check=True)
    subprocess.run([*pip, "--no-deps", "--no-build-isolation", str(PROJECT)], check=True)
    return venv / "bin"


def ran(*words: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False)


def test_no_server_package_is_there(bare: Path) -> None:
    found = "import importlib.util as u, sys; print([n for n in sys.argv[1:] if u.find_spec(n)])"
    assert ran(bare / "python", "-c", found, *SERVER_PACKAGES).stdout == "[]\n"


def test_help_works(bare: Path) -> None:
    shown = ran(bare / "rookery", "--help")
    assert shown.returncode == 0, shown.stderr
    assert "commands:" in shown.stdout


def test_a_match_is_played(bare: Path, tmp_path: Path) -> None:
    sides = ("--new", "rookery-fledgling", "--base", bare / "rookery-fledgling")
    length = ("--tc", "D=1", "--games", "2", "--max-moves", "4", "--concurrency", "1")
    played = subprocess.run(
        list(map(str, (bare / "rookery", "match", *sides, *length, "--json"))),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert played.returncode == 0, played.stderr
    assert '"games": 2' in played.stdout


def test_the_engine_is_a_command(bare: Path) -> None:
    by_name = ran(bare / "rookery-fledgling", "bench").stdout.split()
    assert ran(bare / "rookery", "fledgling", "bench").stdout.split()[:2] == by_name[:2]


def test_the_server_says_what_is_missing(bare: Path) -> None:
    asked = ran(bare / "rookery", "serve")
    assert asked.returncode == 3
    assert "pip install 'rookery[server]'" in asked.stderr
