"""PostgreSQL does not run as root: what happens where user namespaces are forbidden."""

import os
import pwd
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.processes import Owner

FORBIDDEN = (sys.executable, str(Path(__file__).with_name("without_namespaces.py")))
NOBODY = "nobody"


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every account can enter, unlike pytest's own."""
    folder = Path(tempfile.mkdtemp(prefix="rookery-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def drops(data: Path) -> None:
    with Owner(data, prefix=FORBIDDEN) as owner:
        assert f"as {NOBODY}" in owner.until("database_account")["how"]
        owner.until("open")
        assert owner.stop() == 0
    assert (data / "database" / "postgres").stat().st_uid == pwd.getpwnam(NOBODY).pw_uid


def comes_back(data: Path) -> None:
    with Owner(data) as owner:
        assert f"as {NOBODY}" in owner.until("database_account")["how"]
        owner.until("open")


def is_locked_out(data: Path) -> None:
    with Owner(data, prefix=FORBIDDEN) as owner:
        sentence = owner.until("problem")["sentence"]
    assert f"account {NOBODY}, which cannot enter" in sentence


def has_no_account(data: Path) -> None:
    with Owner(data, prefix=FORBIDDEN) as owner:
        assert "no unprivileged account" in owner.until("problem")["sentence"]


if os.geteuid() == 0:

    def test_root_drops_to_an_account_and_comes_back_to_it(open_folder: Path) -> None:
        drops(open_folder / "data")
        comes_back(open_folder / "data")

    def test_root_says_that_the_account_cannot_enter_the_folder(open_folder: Path) -> None:
        open_folder.chmod(0o700)
        is_locked_out(open_folder / "data")

else:

    def test_root_without_other_accounts_says_so(open_folder: Path) -> None:
        has_no_account(open_folder / "data")
