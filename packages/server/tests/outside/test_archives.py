"""Source trees as zip files, from real repositories."""

import os
import zipfile
from pathlib import Path

import pytest

from rookery.core.clock import SystemClock
from rookery.server.sources.commits import SourceError, mirror_name
from rookery.server.sources.git import FetchPolicy, Git
from rookery.server.sources.github import GitHub, RemoteSources
from rookery.server.sources.mirrors import Mirrors
from tests.outside.repositories import Repository, make_repository

CLOCK = SystemClock()
NOBODY: frozenset[str] = frozenset()
"""Repositories to which the server shows who it is."""


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = make_repository(tmp_path / "engine")
    (made.folder / "src").mkdir()
    (made.folder / "src" / "main.c").write_text("int main() {}")
    made.commit("Source", Makefile="all:")
    return made


@pytest.fixture
def outside(tmp_path: Path) -> RemoteSources:
    git = Git(FetchPolicy(frozenset({"file"})))
    return RemoteSources(Mirrors(tmp_path / "sources", git), GitHub(CLOCK), CLOCK)


def head(repository: Repository) -> str:
    return repository.git("rev-parse", "HEAD")


def test_an_archive_has_one_folder_at_its_top(
    repository: Repository, outside: RemoteSources
) -> None:
    packed = outside.archive(repository.address, head(repository), known=NOBODY).file
    with zipfile.ZipFile(packed) as pack:
        names = pack.namelist()
        top = mirror_name(repository.address)
        assert pack.read(f"{top}/src/main.c") == b"int main() {}"
    assert all(name.startswith(f"{top}/") for name in names)
    assert f"{top}/" in names


def test_an_archive_is_made_once(repository: Repository, outside: RemoteSources) -> None:
    commit = head(repository)
    first = outside.archive(repository.address, commit, known=NOBODY).file
    before = first.read_bytes()
    repository.folder.rename(repository.folder.with_name("gone"))
    assert outside.archive(repository.address, commit, known=NOBODY).file.read_bytes() == before


def test_what_was_fetched_for_some_is_not_given_to_others(
    repository: Repository, outside: RemoteSources
) -> None:
    commit = head(repository)
    outside.archive(repository.address, commit, known=frozenset({repository.address}))
    repository.folder.rename(repository.folder.with_name("gone"))
    with pytest.raises(SourceError):
        outside.archive(repository.address, commit, known=NOBODY)


def test_older_commits_of_a_branch_are_had_too(
    repository: Repository, outside: RemoteSources
) -> None:
    older = head(repository)
    newer = repository.commit("Later", Makefile="all: x")
    for commit in (newer, older):
        assert outside.archive(repository.address, commit, known=NOBODY).file.is_file()


def test_what_is_not_there_leaves_no_archive(
    repository: Repository, outside: RemoteSources, tmp_path: Path
) -> None:
    with pytest.raises(SourceError):
        outside.archive(repository.address, "0" * 40, known=NOBODY)
    assert list((tmp_path / "sources").rglob("*.zip")) == []


def test_archives_that_nobody_wants_go_after_a_while(
    repository: Repository, outside: RemoteSources
) -> None:
    later = repository.commit("Later", Makefile="x")
    old, kept = (
        outside.archive(repository.address, commit, known=NOBODY).file
        for commit in (repository.git("rev-parse", "HEAD~"), later)
    )
    os.utime(old, (1, 1))
    outside.forget_archives(30)
    assert (old.exists(), kept.exists()) == (False, True)
    os.utime(kept, (1, 1))
    os.utime(kept.parent.parent, (1, 1))
    outside.forget_archives(30)
    assert not kept.parent.parent.exists()
