"""The base install: what a worker needs, and nothing of the server; by itself, and with the wheel
that a server hands out in the place of the whole package."""

import io
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from rookery.server.machines.wheel import own_wheel
from tests.places import PROJECT
from tests.workers.fake_server import FakeServer, fake_server, fledgling, games_in

pytestmark = pytest.mark.timeout(300)

LIMIT_SECONDS = 120
PARTS = ("core", "cli", "match", "worker")
SERVER_PACKAGES = ("asyncpg", "argon2", "fastapi", "jinja2", "numpy", "re2", "starlette", "uvicorn")


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment with the base install alone."""
    venv = tmp_path_factory.mktemp("bare") / "venv"
    # Installing pip there would take longer than all the rest.
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    pip = [sys.executable, "-m", "pip", "--python", str(venv / "bin" / "python"), "install"]
    pip += ["--quiet", "--no-compile"]
    lock = str(PROJECT / "locks" / "worker.txt")
    subprocess.run([*pip, "--require-hashes", "-r", lock], check=True)
    parts = [str(PROJECT / "packages" / name) for name in PARTS]
    subprocess.run([*pip, "--no-deps", "--no-build-isolation", *parts], check=True)
    return venv / "bin"


def ran(*words: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False)


def test_no_server_package_is_there(bare: Path) -> None:
    found = "import importlib.util as u, sys; print([n for n in sys.argv[1:] if u.find_spec(n)])"
    assert ran(bare / "python", "-c", found, *SERVER_PACKAGES).stdout == "[]\n"


def test_help_works(bare: Path) -> None:
    shown = ran(bare / "rookery", "--help")
    assert shown.returncode == 0, shown.stderr
    assert "Play here:\n  match " in shown.stdout


def test_a_shell_learns_to_complete_what_is_installed(bare: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [str(bare / "rookery"), "--install-completion", "--shell", "bash"],
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (script,) = tmp_path.rglob("completions/*")
    assert "worker" in script.read_text()


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
    assert "pip install rookery-server" in asked.stderr


Command = Callable[..., "subprocess.CompletedProcess[str]"]

IMPORT_ALL = """
import importlib, pathlib, pkgutil, rookery
for found in pkgutil.walk_packages(rookery.__path__, "rookery."):
    if not found.name.endswith(".__main__"):
        importlib.import_module(found.name)
print(pathlib.Path(rookery.worker.__file__).parents[2])
"""


@pytest.fixture
def handed_out(bare: Path, tmp_path: Path) -> Command:
    """Runs Python with the unpacked wheel, as the launcher of an installed worker does."""
    with zipfile.ZipFile(io.BytesIO(own_wheel().content)) as wheel:
        wheel.extractall(tmp_path / "version")

    def run(*words: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [str(bare / "python"), *words],
            cwd=tmp_path,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(tmp_path),
                "PYTHONPATH": str(tmp_path / "version"),
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
        )

    return run


def test_all_modules_of_the_wheel_can_be_imported(handed_out: Command, tmp_path: Path) -> None:
    done = handed_out("-c", IMPORT_ALL)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{tmp_path / 'version'}\n"


def test_the_wheel_plays_a_task(handed_out: Command, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("olga:rkw_x")
    words = (f"--token-file={tmp_path / 'secret'}", f"--cache={tmp_path / 'cache'}", "--once")
    with fake_server(FakeServer(tasks=[fledgling(2)], games=2)) as server:
        place = (f"--server={server.address}", "--concurrency=1", "--retry-seconds=0.2")
        done = handed_out("-m", "rookery.cli.main", "worker", *place, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert games_in(server.of("update_task")[-1]) == 2


def test_the_wheel_plays_a_match_from_its_own_book(handed_out: Command) -> None:
    sides = ("--new", "rookery-fledgling", "--base", "rookery-fledgling")
    length = ("--tc", "D=1", "--games", "2", "--max-moves", "4", "--concurrency", "1")
    done = handed_out("-m", "rookery.cli.main", "match", *sides, *length, "--json")
    assert done.returncode == 0, done.stderr
    assert '"games": 2' in done.stdout


def test_the_wheel_says_that_it_is_no_server(handed_out: Command) -> None:
    asked = handed_out("-m", "rookery.cli.main", "serve")
    assert asked.returncode == 3
    assert "pip install rookery-server" in asked.stderr
