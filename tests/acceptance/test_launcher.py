"""./rookery: installs from the lock once, then only starts; each trouble is one sentence."""

import os
import pty
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rookery.core import __version__
from tests.acceptance.checkout import Checkout
from tests.places import PROJECT

pytestmark = pytest.mark.timeout(400)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A fresh checkout that two people started at the same moment."""
    checkout = Checkout.make(tmp_path_factory.mktemp("launcher"))
    with ThreadPoolExecutor() as both:
        first, second = both.map(checkout.rookery, ["--version", "--version"])
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert first.stdout == second.stdout
    assert first.stdout.startswith(f"rookery {__version__}+f")
    return checkout


@pytest.fixture
def fresh(tmp_path: Path) -> Checkout:
    return Checkout.make(tmp_path)


def sentence(ended: "subprocess.CompletedProcess[str]") -> str:
    """The last line on stderr, after nothing but a failure."""
    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr
    return ended.stderr.splitlines()[-1]


def test_a_second_start_installs_nothing(installed: Checkout) -> None:
    again = installed.rookery("--version")
    assert again.returncode == 0
    assert again.stderr == ""


def test_it_can_be_called_from_elsewhere_through_a_link(
    installed: Checkout, tmp_path: Path
) -> None:
    link = tmp_path / "rookery"
    link.symlink_to(installed.folder / "rookery")
    called = subprocess.run(
        [link, "--version"],
        cwd=tmp_path,
        env=installed.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert called.stdout.startswith(f"rookery {__version__}+f")


def test_a_changed_lock_installs_again(installed: Checkout) -> None:
    lock = installed.folder / "locks" / "server.txt"
    lock.write_text(lock.read_text() + "# changed\n")
    again = installed.rookery("--version")
    assert again.returncode == 0
    assert "installing" in again.stderr
    assert installed.rookery("--version").stderr == ""


def test_a_broken_package_is_named(installed: Checkout) -> None:
    (package,) = installed.folder.glob(".venv/lib/python3*/site-packages/_rookery.pth")
    aside = package.rename(package.with_suffix(".aside"))
    said = sentence(installed.rookery("--version"))
    aside.rename(package)
    assert "is broken" in said


def test_a_broken_environment_says_what_to_remove(installed: Checkout) -> None:
    python = installed.folder / ".venv" / "bin" / "python"
    aside = python.rename(python.with_name("python-aside"))
    said = sentence(installed.rookery("--version"))
    aside.rename(python)
    assert "is broken" in said
    assert str(installed.folder / ".venv") in said


def test_without_a_network_it_says_so(fresh: Checkout) -> None:
    offline = fresh.rookery("--version", PIP_NO_INDEX="1", PIP_FIND_LINKS="")
    assert "is there a network?" in sentence(offline)


def test_without_python_it_says_how_to_get_one(fresh: Checkout, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("cat", "cksum", "cut", "dirname", "find", "grep", "id", "mkdir", "rm", "tail"):
        (tools / name).symlink_to(Path("/usr/bin") / name)
    assert "no Python 3.11" in sentence(fresh.rookery("--version", PATH=str(tools)))


COUNTED = """
set -eu
root=.
. ./scripts/environment
counted "waiting" sleep 1.5
counted "failing" false || echo "code $?"
"""


def test_a_terminal_shows_how_long_an_installation_has_taken() -> None:
    ours, theirs = pty.openpty()
    done = subprocess.run(
        ["sh", "-c", COUNTED], cwd=PROJECT, stderr=theirs, stdout=subprocess.PIPE, check=True
    )
    os.close(theirs)
    shown = os.read(ours, 65536).decode()
    os.close(ours)
    assert "\rrookery: waiting, 0 s \rrookery: waiting, 1 s " in shown
    assert shown.endswith("\r\x1b[K")
    assert done.stdout == b"code 1\n"


def test_nothing_is_counted_where_nobody_looks() -> None:
    done = subprocess.run(["sh", "-c", COUNTED], cwd=PROJECT, capture_output=True, check=True)
    assert done.stderr == b""
