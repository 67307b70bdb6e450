"""What a whole run leaves out because it passed here and nothing of it changed."""

import subprocess
from pathlib import Path

import pytest

from scripts.stages import STAGES, STAMPED, Remembered
from scripts.stamps import Stamp, read_stamp


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A repository with one input, `asgi/server.c`, and what is built from it."""
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / ".gitignore").write_text("*.so\n.cache/\n")
    (tmp_path / "asgi").mkdir()
    (tmp_path / "asgi" / "server.c").write_text("int main;\n")
    return tmp_path


def stamp(clone: Path) -> Stamp:
    found = read_stamp("asgi", ["asgi"], clone)
    assert found is not None
    return found


def test_what_never_passed_runs(clone: Path) -> None:
    assert stamp(clone).why_passed() == ""


def test_what_passed_unchanged_says_when_and_what_it_read(clone: Path) -> None:
    stamp(clone).keep()
    (clone / "asgi" / "built.so").write_text("what is built does not count")
    why = stamp(clone).why_passed()
    assert why.startswith("left out: passed here 20")
    assert why.endswith("UTC, unchanged since: asgi")


@pytest.mark.parametrize("change", ["new.c", "server.c"])
def test_a_changed_or_new_file_makes_it_run_again(clone: Path, change: str) -> None:
    stamp(clone).keep()
    (clone / "asgi" / change).write_text("int other;\n")
    assert stamp(clone).why_passed() == ""


def test_a_file_that_is_gone_makes_it_run_again(clone: Path) -> None:
    subprocess.run(["git", "add", "."], cwd=clone, check=True)
    stamp(clone).keep()
    (clone / "asgi" / "server.c").unlink()
    assert stamp(clone).why_passed() == ""


def test_another_setting_makes_it_run_again(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stamp(clone).keep()
    monkeypatch.setenv("ROOKERY_NO_APT", "1")
    assert stamp(clone).why_passed() != ""
    monkeypatch.setenv("ROOKERY_FILES_URL", "s3://files")
    assert stamp(clone).why_passed() == ""


def test_what_failed_is_forgotten(clone: Path) -> None:
    stamp(clone).keep()
    stamp(clone).forget()
    assert stamp(clone).why_passed() == ""


def test_an_input_that_is_not_there_is_no_input(clone: Path) -> None:
    with pytest.raises(FileNotFoundError, match="reads docs"):
        read_stamp("asgi", ["docs"], clone)


def test_without_git_nothing_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "asgi").mkdir()
    assert read_stamp("asgi", ["asgi"], tmp_path) is None


def test_a_group_that_may_be_left_out_consists_of_stages_and_reads_what_is_there() -> None:
    assert {name for names in STAMPED for name in names} <= {each.name for each in STAGES}
    Remembered(STAMPED)
