"""The launcher of an installed worker, while a version of a few lines is on probation."""

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rookery.worker.renewal import probation
from rookery.worker.renewal.installation import ENVIRONMENT, PROBATION, RENEWAL, InstallFolder
from rookery.worker.renewal.probation import MOST_FAILURES, Probation

RAISES = "raise RuntimeError('broken')"
DIES = "import os; os._exit(9)"
HAS_NO_SERVER = "raise SystemExit(5)"
WORKS = "print('at work')"
SPEAKS_THEN_FAILS = """
from pathlib import Path
place = Path(__file__).parents[4]
(place / "probation").unlink(missing_ok=True)
raise SystemExit(6)
"""

Installation = Callable[[str], InstallFolder]


def version(place: InstallFolder, name: str, program: str) -> Path:
    """A version of the worker whose whole program is this."""
    folder = place.root / "versions" / name
    (folder / RENEWAL).mkdir(parents=True)
    (folder / "rookery" / "cli").mkdir()
    (folder / "rookery" / "cli" / "main.py").write_text(program)
    watch = Path(probation.__file__).read_text()
    (folder / RENEWAL / PROBATION).write_text(watch)
    (folder / ENVIRONMENT).write_text("env")
    return folder


@pytest.fixture
def installed(tmp_path: Path) -> Installation:
    """A place with a version that works, and another one on probation."""

    def install(program: str) -> InstallFolder:
        place = InstallFolder(tmp_path)
        python = place.root / "envs" / "env" / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -S "$@"\n')
        python.chmod(0o755)
        place.write_launcher(version(place, "old", WORKS))
        place.switch(version(place, "new", program))
        probation.begin_probation(place.root, Probation("new", "2.0", "abc", "old"))
        return place

    return install


def started(place: InstallFolder, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [place.launcher, "worker", *words],
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_one_that_fails_three_times_is_given_up_and_the_one_before_goes_on(
    installed: Installation,
) -> None:
    place = installed(RAISES)
    ended = started(place)
    assert (ended.returncode, ended.stdout) == (0, "at work\n")
    assert ended.stderr.count("RuntimeError: broken") == MOST_FAILURES
    assert probation.is_refused(place.root, "abc")
    assert "RuntimeError: broken" in probation.read_return_note(place.root)


def test_one_that_dies_without_a_word_is_given_up_after_as_many_starts(
    installed: Installation,
) -> None:
    place = installed(DIES)
    codes = [started(place).returncode for _ in range(MOST_FAILURES + 1)]
    assert codes == [9] * MOST_FAILURES + [0]
    assert probation.is_refused(place.root, "abc")


def test_a_server_that_is_away_is_not_the_versions_fault(installed: Installation) -> None:
    place = installed(HAS_NO_SERVER)
    codes = [started(place).returncode for _ in range(MOST_FAILURES + 1)]
    assert codes == [5] * (MOST_FAILURES + 1)
    found = probation.read_probation(place.root)
    assert found is not None
    assert found.failures == 0


def test_other_commands_than_a_workers_life_do_not_count(installed: Installation) -> None:
    place = installed(RAISES)
    assert started(place, "doctor").returncode == 1
    found = probation.read_probation(place.root)
    assert found is not None
    assert found.failures == 0


def test_one_that_has_spoken_with_its_server_is_not_given_up(installed: Installation) -> None:
    place = installed(SPEAKS_THEN_FAILS)
    assert [started(place).returncode for _ in range(2)] == [6, 6]
    assert not probation.is_refused(place.root, "abc")
