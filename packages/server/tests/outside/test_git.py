"""Commits by git, from real repositories, and what git is never made to do."""

import socket
from pathlib import Path

import pytest

from rookery.server.app.parts import make_git
from rookery.server.settings import Settings
from rookery.server.sources.commits import Commit, SourceError, check_revision
from rookery.server.sources.git import LARGEST_MEMORY, FetchPolicy, Git
from rookery.server.sources.github import GitHub, RemoteSources
from rookery.server.sources.mirrors import Mirrors
from tests.fakes import HandClock
from tests.outside.git_server import git_server
from tests.outside.repositories import Repository, make_repository

CLOCK = HandClock()
LOCAL = FetchPolicy(frozenset({"file"}))


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = make_repository(tmp_path / "engine")
    made.commit("First", a="1")
    return made


def commits(folder: Path, reach: FetchPolicy = LOCAL, seconds: float = 20.0) -> RemoteSources:
    return RemoteSources(
        Mirrors(folder / "mirrors", Git(reach, seconds=seconds)), GitHub(CLOCK), CLOCK
    )


def test_a_branch_is_its_last_commit_with_all_its_words(
    repository: Repository, tmp_path: Path
) -> None:
    repository.git("switch", "-qc", "feature/idea")
    sha = repository.commit("Search less\n\nBench: 1234567", a="2")
    found = commits(tmp_path).find(repository.address, "feature/idea", known=False)
    assert found == Commit(sha, "Search less\n\nBench: 1234567")


def test_a_tag_is_the_commit_it_stands_for(repository: Repository, tmp_path: Path) -> None:
    sha = repository.commit("Release", a="3")
    repository.git("tag", "-a", "v1.0", "-m", "a tag of its own")
    repository.git("tag", "light")
    for name in ("v1.0", "light"):
        assert commits(tmp_path).find(repository.address, name, known=False).sha == sha


def test_a_whole_hash_is_taken_as_it_is(repository: Repository, tmp_path: Path) -> None:
    sha = repository.git("rev-parse", "HEAD")
    repository.commit("Later", a="4")
    assert commits(tmp_path).find(repository.address, sha, known=False) == Commit(sha, "First")


def test_a_branch_that_moved_is_found_where_it_is_now(
    repository: Repository, tmp_path: Path
) -> None:
    found = commits(tmp_path)
    found.find(repository.address, "master", known=False)
    sha = repository.commit("Later", a="4")
    assert found.find(repository.address, "master", known=False).sha == sha


@pytest.mark.parametrize("revision", ["nothing", "0" * 40])
def test_what_is_not_there_is_told(repository: Repository, tmp_path: Path, revision: str) -> None:
    with pytest.raises(SourceError):
        commits(tmp_path).find(repository.address, revision, known=False)


def test_a_missing_branch_is_named(repository: Repository, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no branch, tag or commit nothing in file://"):
        commits(tmp_path).find(repository.address, "nothing", known=False)


@pytest.mark.parametrize(
    "revision",
    [
        "",
        "-x",
        "--upload-pack=touch",
        "a b",
        "a..b",
        "a:b",
        "a^{}",
        "@{1}",
        "x.lock",
        "ü",
        "a" * 201,
    ],
)
def test_what_can_be_no_name_is_not_even_asked_for(revision: str) -> None:
    with pytest.raises(SourceError, match="can't be the name"):
        check_revision(revision)


@pytest.mark.parametrize(
    "address",
    [
        "--upload-pack=touch /tmp/x",
        "ext::sh -c touch% /tmp/x",
        "/etc",
        "http://example.org/x",
        "ssh://git@example.org/x",
    ],
)
def test_only_the_schemes_that_were_allowed_are_fetched_by(address: str, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="this server fetches by file"):
        commits(tmp_path).find(address, "master", known=False)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "10.0.0.1", "169.254.169.254"])
def test_addresses_inside_the_network_are_not_asked(host: str, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="inside this server's network"):
        commits(tmp_path, FetchPolicy()).find(f"https://{host}/x", "master", known=False)


def test_settings_name_the_schemes_that_are_fetched_by(repository: Repository) -> None:
    git = make_git(Settings.read({"ROOKERY_GIT_SCHEMES": "https,file"}))
    assert git.find(repository.address, "master") == repository.git("rev-parse", "HEAD")
    with pytest.raises(SourceError, match="this server fetches by https, not by file"):
        make_git(Settings()).find(repository.address, "master")


def test_settings_name_the_servers_inside_the_network_that_are_asked(
    repository: Repository,
) -> None:
    with git_server(repository.folder.parent) as server:
        address = server.address("127.0.0.1", "engine/.git")
        allowed = {"ROOKERY_GIT_SCHEMES": "http", "ROOKERY_GIT_HOSTS": "127.0.0.1"}
        git = make_git(Settings.read(allowed))
        assert git.find(address, "master") == repository.git("rev-parse", "HEAD")
        with pytest.raises(SourceError, match="inside this server's network"):
            make_git(Settings(git_schemes=("http",))).find(address, "master")


def test_settings_name_the_file_with_passwords_for_repositories(
    repository: Repository, tmp_path: Path
) -> None:
    with git_server(repository.folder.parent, password="olga:5ecret") as server:
        address = server.address("127.0.0.1", "engine/.git")
        passwords = tmp_path / "passwords"
        passwords.write_text(f"http://olga:5ecret@127.0.0.1:{server.port}\n")
        allowed = {"ROOKERY_GIT_SCHEMES": "http", "ROOKERY_GIT_HOSTS": "127.0.0.1"}
        known = Settings.read({**allowed, "ROOKERY_GIT_CREDENTIALS": str(passwords)})
        assert make_git(known).find(address, "master") == repository.git("rev-parse", "HEAD")
        with pytest.raises(SourceError):
            make_git(Settings.read(allowed)).find(address, "master")


def test_a_server_that_never_answers_is_given_up(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        reach = FetchPolicy(frozenset({"git"}), frozenset({"127.0.0.1"}))
        address = f"git://127.0.0.1:{silent.getsockname()[1]}/x"
        with pytest.raises(SourceError, match="longer than 1 s"):
            commits(tmp_path, reach, seconds=1.0).find(address, "master", known=False)


def test_git_sees_nothing_of_our_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROOKERY_GITHUB_TOKEN", "a secret")
    said = Git(LOCAL).run("-c", "alias.show-all=!env", "show-all")
    assert "a secret" not in said
    assert "GIT_TERMINAL_PROMPT=0" in said


def test_what_git_writes_without_end_is_broken_off() -> None:
    with pytest.raises(SourceError, match="more than 64 MB"):
        Git(LOCAL).run("-c", "alias.endless=!yes", "endless")


def test_errors_without_end_are_broken_off_too() -> None:
    with pytest.raises(SourceError, match="more than 64 MB"):
        Git(LOCAL).run("-c", "alias.endless=!yes >&2", "endless")


def test_git_has_a_limit_of_memory() -> None:
    said = Git(LOCAL).run("-c", "alias.limit=!ulimit -v", "limit")
    assert int(said) <= LARGEST_MEMORY


def test_what_grows_too_large_is_stopped(repository: Repository, tmp_path: Path) -> None:
    repository.commit("Large", a="".join(map(str, range(60_000))))
    small = Git(LOCAL, largest_bytes=10_000)
    with pytest.raises(SourceError):
        Mirrors(tmp_path / "m", small).read_message(
            small, repository.address, repository.git("rev-parse", "HEAD")
        )
