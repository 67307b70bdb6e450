"""GitHub's API, played by a process on this machine."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from rookery.server.app.build import new_process
from rookery.server.app.parts import make_outside
from rookery.server.logs import SilentLog
from rookery.server.settings import Settings
from rookery.server.sources.commits import Commit, SourceError
from rookery.server.sources.git import FetchPolicy, Git
from rookery.server.sources.github import GitHub, QuotaSpent, RemoteSources
from rookery.server.sources.mirrors import Mirrors
from tests.fakes import HandClock
from tests.outside.github_process import REPOSITORY, SHA, GithubProcess, github_process


@pytest.fixture
def fake(tmp_path: Path) -> Iterator[GithubProcess]:
    with github_process(tmp_path) as found:
        yield found


def test_a_commit_is_found_by_any_name(fake: GithubProcess) -> None:
    fake.commit("feature/idea", "Idea\n\nBench: 1")
    found = fake.github().find_commit(REPOSITORY, "feature/idea", known=False)
    assert found == Commit(SHA, "Idea\n\nBench: 1")


def test_the_quota_is_what_github_told_last(fake: GithubProcess) -> None:
    fake.commit("master", "x")
    github = fake.github()
    assert github.quota().uninitialized
    github.find_commit(REPOSITORY, "master", known=False)
    quota = github.quota()
    assert (quota.limit, quota.remaining, quota.used) == (60, 59, 1)
    assert not quota.uninitialized


def test_the_quota_can_be_asked_for_without_using_it(fake: GithubProcess) -> None:
    github = fake.github()
    github.ask_quota()
    assert (github.quota().remaining, github.quota().uninitialized) == (60, False)


def test_a_quota_that_nobody_tells_stays_unknown() -> None:
    github = GitHub(HandClock(), api="http://127.0.0.1:1")
    github.ask_quota()
    assert github.quota().uninitialized


def test_github_is_not_asked_where_nothing_may_be_fetched_from_it(
    fake: GithubProcess, tmp_path: Path
) -> None:
    mirrors = Mirrors(tmp_path / "sources", Git(FetchPolicy(frozenset({"file"}))))
    RemoteSources(mirrors, fake.github(), HandClock()).ask_quota()
    assert not (fake.folder / "calls").exists()


def test_settings_say_where_githubs_api_is_and_with_which_token_it_is_asked(
    fake: GithubProcess, tmp_path: Path
) -> None:
    fake.commit("master", "x")
    named = {"ROOKERY_GITHUB_TOKEN": "5ecret", "ROOKERY_DATA": str(tmp_path / "data")}
    settings = Settings.read({**fake.settings, **named})
    sources = make_outside(settings, new_process(settings, SilentLog()))
    assert sources.find(REPOSITORY, "master", known=True).sha == SHA
    assert [call.split()[1:] for call in fake.calls()] == [["Bearer", "5ecret"]]


def test_an_answer_that_is_known_already_costs_no_quota(fake: GithubProcess) -> None:
    fake.commit("master", "x")
    github = fake.github()
    for _ in range(3):
        assert github.find_commit(REPOSITORY, "master", known=False).sha == SHA
    assert (github.quota().remaining, len(fake.calls())) == (59, 3)


def test_a_missing_commit_is_named(fake: GithubProcess) -> None:
    with pytest.raises(SourceError, match="nothing"):
        fake.github().find_commit(REPOSITORY, "nothing", known=False)


def test_a_renamed_repository_is_followed_but_not_elsewhere(fake: GithubProcess) -> None:
    fake.put("repos/olga/Engine/commits/a", "-> /repositories/7/commits/a")
    fake.put("repositories/7/commits/a", json.dumps({"sha": SHA, "commit": {"message": ""}}))
    assert fake.github().find_commit(REPOSITORY, "a", known=False).sha == SHA
    fake.put("repos/olga/Engine/commits/b", "-> http://127.0.0.1:1/x")
    with pytest.raises(SourceError, match="301"):
        fake.github().find_commit(REPOSITORY, "b", known=False)


def test_private_repositories_are_read_for_known_engines_alone(fake: GithubProcess) -> None:
    fake.commit("master", "a secret")
    fake.put("repos/olga/Engine", json.dumps({"private": True}))
    github = fake.github("t0ken")
    with pytest.raises(SourceError, match="there is no branch, tag or commit"):
        github.find_commit(REPOSITORY, "master", known=False)
    assert github.find_commit(REPOSITORY, "master", known=True).message == "a secret"
    assert all(call.endswith("Bearer t0ken") for call in fake.calls())


def test_once_the_quota_is_spent_github_is_left_alone(tmp_path: Path) -> None:
    with github_process(tmp_path, quota=1) as fake:
        fake.commit("master", "x")
        github = fake.github()
        github.find_commit(REPOSITORY, "master", known=False)
        with pytest.raises(QuotaSpent):
            github.find_commit(REPOSITORY, "master", known=False)
        assert len(fake.calls()) == 1


def test_without_quota_git_is_asked_instead(tmp_path: Path) -> None:
    with github_process(tmp_path, quota=1) as fake:
        fake.commit("master", "x")
        git = Git(FetchPolicy(frozenset({"https"}), frozenset({"github.com"})), seconds=5.0)
        asked = RemoteSources(Mirrors(tmp_path / "m", git), fake.github(), HandClock())
        assert asked.find(REPOSITORY, "master", known=False).sha == SHA
        # No network here: that git is asked shows in its words.
        with pytest.raises(SourceError, match=r"(?i)github\.com|longer than"):
            asked.find(REPOSITORY, "master", known=False)


@pytest.mark.parametrize("text", ["nonsense", "[]", "{}", '{"sha": 1}'])
def test_an_answer_that_makes_no_sense_is_told(fake: GithubProcess, text: str) -> None:
    fake.put("repos/olga/Engine/commits/master", text)
    with pytest.raises(SourceError, match="can't be read"):
        fake.github().find_commit(REPOSITORY, "master", known=False)


def test_where_nobody_answers_is_told() -> None:
    github = GitHub(HandClock(), api="http://127.0.0.1:1")
    with pytest.raises(SourceError, match="does not answer"):
        github.find_commit(REPOSITORY, "master", known=False)
