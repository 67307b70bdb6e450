"""Which build this is: a commit, or a digest of files."""

from pathlib import Path

import pytest

from rookery.core.build_id import digest_files, find_commit

COMMIT = "0123456789abcdef" * 2 + "01234567"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    package = tmp_path / "packages" / "core" / "src" / "rookery" / "core"
    package.mkdir(parents=True)
    (package / "one.py").write_text("1")
    return package


def write(root: Path, **files: str) -> None:
    for name, text in files.items():
        file = root / name.replace("__", "/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def test_the_commit_of_a_branch_is_read(package: Path, tmp_path: Path) -> None:
    git = tmp_path / ".git"
    write(git, HEAD="ref: refs/heads/main\n", refs__heads__main=f"{COMMIT}\n")
    assert find_commit(package) == COMMIT


def test_the_commit_of_a_packed_branch_and_of_none_is_read(package: Path, tmp_path: Path) -> None:
    git = tmp_path / ".git"
    write(git, HEAD="ref: refs/heads/main\n")
    (git / "packed-refs").write_text(f"# pack-refs\n{COMMIT} refs/heads/main\n")
    assert find_commit(package) == COMMIT
    write(git, HEAD=f"{COMMIT}\n")
    assert find_commit(package) == COMMIT


def test_the_commit_of_a_worktree_is_read(package: Path, tmp_path: Path) -> None:
    main = tmp_path / "main"
    write(main / "worktrees" / "other", HEAD="ref: refs/heads/side\n", commondir="../..\n")
    write(main, refs__heads__side=f"{COMMIT}\n")
    (tmp_path / ".git").write_text(f"gitdir: {main / 'worktrees' / 'other'}\n")
    assert find_commit(package) == COMMIT


def test_an_installation_lies_in_no_checkout(package: Path, tmp_path: Path) -> None:
    assert find_commit(package) == ""
    write(tmp_path / ".git", HEAD=f"{COMMIT}\n")
    assert find_commit(tmp_path / "lib" / "python" / "packages" / "rookery" / "core") == ""


def test_files_that_differ_are_another_build(package: Path) -> None:
    before = digest_files(package)
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "one.pyc").write_text("compiled")
    assert digest_files(package) == before
    (package / "one.py").write_text("2")
    assert digest_files(package) != before
