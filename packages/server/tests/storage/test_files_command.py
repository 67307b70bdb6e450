"""`rookery files`, as a person would call it."""

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.commands import add_user, run_command

NET = b"a net" * 1000
NAME = f"nn-{hashlib.sha256(NET).hexdigest()[:12]}.nnue"


def files(*words: str, data: Path, url: Path | None = None) -> "subprocess.CompletedProcess[str]":
    settings = {"ROOKERY_FILES_URL": str(url)} if url else None
    return run_command("files", *words, data=data, settings=settings)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A farm with one net."""
    folder = tmp_path_factory.mktemp("files")
    (folder / NAME).write_bytes(NET)
    add_user("olga", folder / "data")
    line = ("net", "add", str(folder / NAME), "--user", "olga")
    assert run_command(*line, data=folder / "data").returncode == 0
    return folder / "data"


def test_files_are_moved_and_then_nothing_is_missing(data: Path, tmp_path: Path) -> None:
    new = tmp_path / "new"
    said = files("move", "--to", str(new), data=data)
    assert said.returncode == 0, said.stderr
    assert "Copied 1 files" in said.stdout
    old = data / "blobs"
    told = [line.strip() for line in said.stdout.splitlines() if "ROOKERY_FILES_" in line]
    first = [f"ROOKERY_FILES_URL={old}", f"ROOKERY_FILES_OLD_URL={new}"]
    assert told == [*first, f"ROOKERY_FILES_URL={new}", f"ROOKERY_FILES_OLD_URL={old}"]
    assert files("check", data=data, url=new).returncode == 0


def test_a_file_that_is_missing_is_named(data: Path, tmp_path: Path) -> None:
    said = files("check", data=data, url=tmp_path)
    assert (said.returncode, "missing: nets/" in said.stdout) == (1, True)


def test_a_file_that_was_cut_is_named(data: Path, tmp_path: Path) -> None:
    (net,) = copied_to(tmp_path, data)
    net.write_bytes(net.read_bytes()[:-5])
    said = files("check", data=data, url=tmp_path)
    assert (said.returncode, f"damaged: nets/{net.name}" in said.stdout) == (1, True)


def test_a_file_with_other_bytes_is_named_when_contents_are_read(
    data: Path, tmp_path: Path
) -> None:
    (net,) = copied_to(tmp_path, data)
    assert files("check", "--contents", data=data, url=tmp_path).returncode == 0
    content = bytearray(net.read_bytes())
    content[len(content) // 2] ^= 1
    net.write_bytes(content)
    assert files("check", data=data, url=tmp_path).returncode == 0
    said = files("check", "--contents", data=data, url=tmp_path)
    assert (said.returncode, f"damaged: nets/{net.name}" in said.stdout) == (1, True)


def copied_to(folder: Path, data: Path) -> list[Path]:
    """The stored nets of the farm in a folder of the test's own."""
    shutil.copytree(data / "blobs" / "nets", folder / "nets")
    return [path for path in (folder / "nets").rglob("*") if path.is_file()]


def test_a_move_to_nowhere_is_refused(data: Path) -> None:
    said = files("move", data=data)
    assert said.returncode != 0
    assert "--to" in said.stderr


def test_a_folder_that_cannot_be_made_is_told_in_a_sentence(data: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    said = files("move", "--to", str(tmp_path / "file" / "new"), data=data)
    assert said.returncode != 0
    assert "for files cannot be made (Not a directory)" in said.stderr
    assert "Traceback" not in said.stderr
