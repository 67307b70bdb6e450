"""Each package's wheel, alone with those that it needs, does its job."""

import os
import signal
import subprocess
import sys
import sysconfig
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.places import PACKAGES
from tests.ports import kept_port

pytestmark = pytest.mark.timeout(300)

READY_SECONDS = 120
IMPORT_ALL = """
import importlib, pkgutil, sys
package = importlib.import_module(sys.argv[1])
for found in pkgutil.walk_packages(package.__path__, f"{sys.argv[1]}."):
    if not found.name.endswith(".__main__"):
        importlib.import_module(found.name)
import rookery
print(sorted(found.name for found in pkgutil.iter_modules(rookery.__path__)))
"""


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """The wheel of each package, by its name."""
    into = tmp_path_factory.mktemp("wheels")
    pip = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation")
    subprocess.run([*pip, "--wheel-dir", into, *PACKAGES], check=True)
    return {each.name: next(into.glob(f"rookery_{each.name}-*.whl")) for each in PACKAGES}


Installed = Callable[..., Path]


@pytest.fixture
def installed(wheels: Mapping[str, Path], tmp_path: Path) -> Installed:
    """Makes an environment with some of the wheels, and packages of others from this one."""

    def install(*names: str) -> Path:
        place = tmp_path / "env"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
        inner = Path(sysconfig.get_path("purelib", "venv", {"base": str(place)}))
        # A plain line, unlike one that adds a folder of packages, reads no .pth of ours there.
        (inner / "others.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
        pip = (sys.executable, "-m", "pip", "--python", place / "bin" / "python", "install")
        chosen = [wheels[name] for name in names]
        words = ("--quiet", "--no-deps", "--no-index", "--ignore-installed")
        subprocess.run([*pip, *words, *chosen], check=True)
        return place / "bin"

    return install


def ran(*words: object) -> "subprocess.CompletedProcess[str]":
    kept = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        list(map(str, words)), env=kept, capture_output=True, text=True, check=False
    )


def test_core_needs_nothing_of_ours(installed: Installed) -> None:
    done = ran(installed("core") / "python", "-c", IMPORT_ALL, "rookery.core")
    assert (done.returncode, done.stdout) == (0, "['core']\n"), done.stderr


def test_the_command_line_alone_names_what_is_missing(installed: Installed) -> None:
    programs = installed("core", "cli")
    shown = ran(programs / "rookery", "--help")
    assert shown.returncode == 0, shown.stderr
    assert "Talk to a server:" in shown.stdout
    assert "Play here:" not in shown.stdout
    asked = ran(programs / "rookery", "match")
    assert (asked.returncode, "pip install rookery-match" in asked.stderr) == (3, True)


def test_a_match_needs_neither_worker_nor_server(installed: Installed) -> None:
    programs = installed("core", "cli", "match")
    engine = programs / "rookery-fledgling"
    length = ("--tc", "D=1", "--games", "2", "--max-moves", "4", "--concurrency", "1")
    played = ran(programs / "rookery", "match", "--new", engine, "--base", engine, *length)
    assert played.returncode == 0, played.stderr


def test_a_worker_needs_no_server(installed: Installed) -> None:
    programs = installed("core", "cli", "match", "worker")
    done = ran(programs / "python", "-c", IMPORT_ALL, "rookery.worker")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "['cli', 'core', 'match', 'worker']\n"
    shown = ran(programs / "rookery", "worker", "doctor")
    assert "Traceback" not in shown.stderr


def test_a_server_serves_without_a_worker_and_says_so(installed: Installed, tmp_path: Path) -> None:
    programs = installed("core", "cli", "server")
    with kept_port() as port:
        check_server(programs, port, tmp_path)


def check_server(programs: Path, port: int, tmp_path: Path) -> None:
    kept = {name: text for name, text in os.environ.items() if not name.startswith("ROOKERY_")}
    kept.pop("PYTHONPATH", None)
    words = ("serve", f"--port={port}", f"--data={tmp_path / 'data'}")
    variables = kept | {"ROOKERY_FRONT_END": "0", "ROOKERY_BOOKS_REPOSITORY": "off"}
    log = (tmp_path / "log").open("w")
    with (
        log,
        subprocess.Popen(
            [programs / "rookery", *words], env=variables, stdout=log, stderr=log
        ) as server,
    ):
        try:
            until_ready(port)
            assert status_of(port, "/") == 200
            assert status_of(port, "/machines/add") in {200, 302}
            assert status_of(port, "/worker/install.sh") == 404
        finally:
            server.send_signal(signal.SIGTERM)
        assert server.wait(60) == 0, (tmp_path / "log").read_text()


def until_ready(port: int) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while status_of(port, "/readyz") != 200:
        assert time.monotonic() < deadline, "the server is not ready"
        time.sleep(0.1)


def status_of(port: int, path: str) -> int:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as refused:
        return refused.code
    except OSError:
        return 0
