"""What the server reads in sources by itself, from real repositories."""

from pathlib import Path

import pytest

from rookery.core.model.engine import EngineRecord, NetRecord
from rookery.server.sources.commits import SourceError
from rookery.server.sources.diffs import TOO_LONG, GitDiff
from rookery.server.sources.git import FetchPolicy, Git
from rookery.server.sources.mirrors import Mirrors
from rookery.server.sources.reviews import make_net_search
from rookery.server.sources.survey import GitSurvey, NetPattern, SourcePlace
from tests.fakes import HandClock
from tests.outside.repositories import Repository, make_repository

NETS = NetPattern(r"nn-[0-9a-f]{12}\.nnue")


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


def commit_at(repository: Repository, date: str, message: str, **files: str) -> None:
    repository.commit(message, **files)
    repository.git("commit", "--amend", "-q", "--no-edit", f"--date={date}")
    repository.git("rebase", "-q", "-f", "--committer-date-is-author-date", "HEAD~1")


def test_a_patch_on_the_main_branch_is_told_by_its_size_bench_and_nets(
    survey: GitSurvey, engine: Repository
) -> None:
    main, base = place(engine), place(engine)
    engine.git("checkout", "-q", "-b", "idea")
    engine.commit("Idea\n\nBench: 333333", main__c="one\ntwo\nthree\n", more__c="x\n")
    facts = survey.compare(main, place(engine), base, NETS)
    engine.git("checkout", "-q", "master")
    assert (facts.files, facts.added, facts.removed) == (2, 2, 0)
    assert (facts.message_bench, facts.base_message_bench) == ("333333", "222222")
    assert facts.nets == facts.base_nets == ("nn-0123456789ab.nnue",)
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
    facts = survey.compare(main, new, base, NETS)
    assert (facts.ancestor, facts.base_on_main) == (False, False)
    assert survey.compare(main, new, main, NETS).base_on_main is True


def test_the_main_branch_is_listed_from_its_beginning_and_kept_current(
    survey: GitSurvey, engine: Repository
) -> None:
    where = SourcePlace(engine.address)
    assert [each.subject for each in survey.list_main(where)] == ["First", "Second"]
    engine.commit("Third", main__c="three\n")
    assert [each.subject for each in survey.list_main(where)] == ["First", "Second", "Third"]


def test_the_order_of_a_main_branch_is_that_of_its_history_and_not_of_dates(
    survey: GitSurvey, engine: Repository
) -> None:
    commit_at(engine, "2002-01-01T00:00:00Z", "Slow clock", main__c="three\n")
    engine.git("checkout", "-q", "-b", "side", "HEAD~1")
    commit_at(engine, "2001-01-01T00:00:00Z", "Slower clock", side__c="x\n")
    engine.git("checkout", "-q", "master")
    engine.git("merge", "-q", "--no-ff", "-m", "Merge", "side")
    names = [each.subject for each in survey.list_main(SourcePlace(engine.address))]
    assert names[:2] == ["First", "Second"]
    assert set(names[2:-1]) == {"Slow clock", "Slower clock"}
    assert names[-1] == "Merge"


def test_a_main_branch_tells_its_trees_and_the_runs_that_its_messages_name(
    survey: GitSurvey, engine: Repository
) -> None:
    run = "0123456789abcdef01234567"
    engine.git("checkout", "-q", "-b", "next")
    engine.commit(f"Squashed\n\nPassed: https://tests.example/runs/{run}", main__c="three\n")
    head = place(engine)
    engine.git("checkout", "-q", "master")
    last = survey.list_main(SourcePlace(engine.address, branch="next"))[-1]
    assert (last.sha, last.runs) == (head.commit, (run,))
    assert last.tree == survey.find_tree(head)
    assert len(survey.list_main(SourcePlace(engine.address))) == 2
    with pytest.raises(SourceError, match="can't be the name"):
        survey.list_main(SourcePlace(engine.address, branch="a..b"))


def test_nets_are_looked_for_in_the_files_of_the_record(
    survey: GitSurvey, engine: Repository
) -> None:
    main = place(engine)
    engine.commit("Net", weights__txt="nn-aaaaaaaaaaaa.nnue\n")
    nets = NetRecord(use="embedded", pattern=NETS.pattern, files=("weights.txt",))
    search = make_net_search(EngineRecord(name="Owl", nets=nets))
    facts = survey.compare(main, place(engine), main, search)
    assert (facts.nets, facts.base_nets) == (("nn-aaaaaaaaaaaa.nnue",), ())


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
    new, differ = place(engine), GitDiff(survey, HandClock())
    assert "\n+three\n" in differ.diff(new, base)
    engine.commit("Large", **dict.fromkeys(("a", "b"), "line\n" * 150000))
    with pytest.raises(SourceError, match="larger than 1 MB"):
        differ.diff(place(engine), base)
    assert not list(survey.folder.glob("look-*"))


def test_the_lines_of_a_file_beyond_a_megabyte_are_not_compared(
    survey: GitSurvey, engine: Repository
) -> None:
    engine.commit("Large", table="1\n" * 600_000)
    base = place(engine)
    engine.commit("Larger", table="2\n" * 600_000)
    assert "Binary files a/table and b/table differ" in GitDiff(survey, HandClock()).diff(
        place(engine), base
    )


class HurryingClock(HandClock):
    """Whenever it is read, six seconds have passed."""

    def seconds(self) -> float:
        self.move(seconds=6)
        return super().seconds()


def test_both_commits_and_their_diff_share_one_limit_of_time(
    survey: GitSurvey, engine: Repository
) -> None:
    base = place(engine)
    engine.commit("Idea", main__c="one\ntwo\nthree\n")
    with pytest.raises(SourceError, match=TOO_LONG):
        GitDiff(survey, HurryingClock()).diff(place(engine), base)
