"""Commit histories by git, from real repositories."""

from pathlib import Path

import pytest

from rookery.server.ask.history import CommitLog, GitHistories, ReadCommit
from rookery.server.sources.commits import SourceError
from rookery.server.sources.git import FetchPolicy, Git
from tests.outside.git_server import git_server
from tests.outside.repositories import Repository, make_repository


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = make_repository(tmp_path / "engine")
    made.commit("First", a="1")
    made.commit("Second\n\nwith words", a="2")
    return made


def histories(folder: Path, *schemes: str, inside: tuple[str, ...] = ()) -> GitHistories:
    policy = FetchPolicy(frozenset(schemes or ("file",)), frozenset(inside))
    return GitHistories(folder / "clones", Git(policy))


def subjects(log: CommitLog) -> list[str]:
    found: list[ReadCommit] = []
    while batch := log.next_batch():
        found += batch
    log.close()
    return [each.message.partition("\n")[0] for each in found]


def test_all_commits_are_read_the_latest_first(repository: Repository, tmp_path: Path) -> None:
    log = histories(tmp_path).read(repository.address, "", known=False)
    assert log.head == repository.git("rev-parse", "HEAD")
    assert subjects(log) == ["Second", "First"]


def test_only_what_is_new_is_read_again(repository: Repository, tmp_path: Path) -> None:
    reader = histories(tmp_path)
    before = reader.read(repository.address, "", known=False)
    before.close()
    repository.commit("Third", a="3")
    after = reader.read(repository.address, before.head, known=False)
    assert not after.rewritten
    assert subjects(after) == ["Third"]


def test_a_history_that_was_rewritten_is_read_from_the_start(
    repository: Repository, tmp_path: Path
) -> None:
    reader = histories(tmp_path)
    before = reader.read(repository.address, "", known=False)
    before.close()
    repository.git("reset", "-q", "--hard", "HEAD~1")
    repository.commit("Another second", a="4")
    after = reader.read(repository.address, before.head, known=False)
    assert after.rewritten
    assert subjects(after) == ["Another second", "First"]


def test_no_files_come_along_where_the_server_can_leave_them_out(
    repository: Repository, tmp_path: Path
) -> None:
    repository.git("config", "uploadpack.allowFilter", "true")
    with git_server(tmp_path) as server:
        reader = histories(tmp_path, "http", inside=("127.0.0.1",))
        log = reader.read(server.address("127.0.0.1", "engine"), "", known=False)
        assert subjects(log) == ["Second", "First"]
    (clone,) = (tmp_path / "clones").iterdir()
    counted = Git(FetchPolicy(frozenset({"file"}))).run("count-objects", "-v", folder=clone)
    numbers = dict(line.split(": ") for line in counted.splitlines())
    assert int(numbers["count"]) + int(numbers["in-pack"]) == 2


def test_a_clone_of_this_machine_is_read_in_its_place(
    repository: Repository, tmp_path: Path
) -> None:
    log = histories(tmp_path).read_local(tmp_path / "engine", "")
    assert subjects(log) == ["Second", "First"]
    assert not (tmp_path / "clones").exists()


def test_addresses_inside_the_network_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="inside this server's network"):
        histories(tmp_path, "http").read("http://127.0.0.1:1/engine", "", known=False)


def test_what_is_no_repository_is_told(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError):
        histories(tmp_path).read_local(tmp_path / "empty", "")
