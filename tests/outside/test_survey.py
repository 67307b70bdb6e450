"""What the server reads in sources by itself, from real repositories."""

from pathlib import Path

import pytest

from rookery.sources.commits import SourceError
from rookery.sources.diffs import GitDiff
from rookery.sources.git import FetchPolicy, Git
from rookery.sources.mirrors import Mirrors
from rookery.sources.survey import GitSurvey, SourcePlace
from tests.outside.repositories import Repository, make_repository

PATTERN = r"nn-[0-9a-f]{12}\.nnue"


@pytest.fixture
def survey(tmp_path: Path) -> GitSurvey:
    return GitSurvey(Mirrors(tmp_path / "sources", Git(FetchPolicy(frozenset({"file"})))))


@pytest.fixture
def engine(tmp_path: Path) -> Repository:
    made = make_repository(tmp_path / "engine")
    (made.folder / "src").mkdir()
    (made.folder / "src" / "evaluate.h").write_text('#define Net "nn-0123456789ab.nnue"\n')
    made.commit("First\n\nBench: 111111", main__c="one\n")
    made.commit("Second\n\nBench: 222222", main__c="one\ntwo\n")
    for name in ("allowFilter", "allowAnySHA1InWant"):
        made.git("config", f"uploadpack.{name}", "true")
    return made


def place(repository: Repository, revision: str = "HEAD") -> SourcePlace:
    return SourcePlace(repository.address, repository.git("rev-parse", revision))


def test_a_patch_on_the_main_branch_is_told_by_its_size_bench_and_nets(
    survey: GitSurvey, engine: Repository
) -> None:
    main, base = place(engine), place(engine)
    engine.git("checkout", "-q", "-b", "idea")
    engine.commit("Idea\n\nBench: 333333", main__c="one\ntwo\nthree\n", more__c="x\n")
    facts = survey.compare(main, place(engine), base, PATTERN)
    engine.git("checkout", "-q", "master")
    assert (facts.files, facts.added, facts.removed) == (2, 2, 0)
    assert (facts.message_bench, facts.nets) == ("333333", ("nn-0123456789ab.nnue",))
    assert (facts.ancestor, facts.trouble) == (True, "")


def test_a_base_beside_the_main_branch_is_no_ancestor(
    survey: GitSurvey, engine: Repository
) -> None:
    main = place(engine)
    engine.git("checkout", "-q", "-b", "idea", "HEAD~1")
    engine.commit("Idea", main__c="other\n")
    new = place(engine)
    engine.git("checkout", "-q", "-b", "odd", "HEAD~1")
    engine.commit("Odd base", main__c="odd\n")
    base = place(engine)
    engine.git("checkout", "-q", "master")
    facts = survey.compare(main, new, base, PATTERN)
    assert (facts.ancestor, facts.base_on_main) == (False, False)
    assert survey.compare(main, new, main, PATTERN).base_on_main is True


def test_the_main_branch_is_listed_from_its_beginning_and_kept_current(
    survey: GitSurvey, engine: Repository
) -> None:
    where = SourcePlace(engine.address)
    assert [each.subject for each in survey.list_main(where)] == ["First", "Second"]
    engine.commit("Third", main__c="three\n")
    assert [each.subject for each in survey.list_main(where)] == ["First", "Second", "Third"]


def test_a_file_of_the_main_branch_is_read_and_nothing_is_left_behind(
    survey: GitSurvey, engine: Repository
) -> None:
    assert survey.read_file(SourcePlace(engine.address), "main.c") == "one\ntwo\n"
    assert survey.read_file(SourcePlace(engine.address), "none.c") == ""
    assert list(survey.folder.iterdir()) == []


def test_what_a_process_that_died_left_is_removed_in_time(survey: GitSurvey) -> None:
    left = survey.folder / "look-1"
    left.mkdir(parents=True)
    survey.forget_scratch(left.stat().st_mtime - 1)
    assert left.is_dir()
    survey.forget_scratch(left.stat().st_mtime + 1)
    assert not left.exists()


def test_a_repository_that_may_not_be_fetched_is_refused(survey: GitSurvey) -> None:
    with pytest.raises(SourceError):
        survey.list_main(SourcePlace("https://127.0.0.1/engine"))


def test_the_diff_of_two_commits_is_read_and_a_large_one_refused(
    survey: GitSurvey, engine: Repository
) -> None:
    base = place(engine)
    engine.commit("Idea", main__c="one\ntwo\nthree\n")
    new, differ = place(engine), GitDiff(survey)
    assert "\n+three\n" in differ.diff(new, base)
    engine.commit("Large", main__c="x" * 1000 + "\n" + "line\n" * 400_000)
    with pytest.raises(SourceError, match="larger than 1 MB"):
        differ.diff(place(engine), base)
    assert not list(survey.folder.glob("look-*"))
