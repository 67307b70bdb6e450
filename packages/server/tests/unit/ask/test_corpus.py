"""What rows become as documents."""

from dataclasses import replace

import pytest
from msgspec.structs import replace as with_fields

from rookery.core.model.events import Action, about_run, about_task
from rookery.core.model.run import Run
from rookery.server.ask.corpus import (
    DocPage,
    KnownCommit,
    UploadedText,
    classify_time,
    describe_action,
    describe_commit,
    describe_doc_page,
    describe_run,
    describe_upload,
    find_commit_address,
)
from rookery.server.ask.passages import Document
from tests.makers import NOW, OWNER, make_plan, make_run, make_side, pairs, sprt
from tests.storage.farm.stores import make_task

SIDES = (
    make_side("razor2", message="Razoring with a larger margin\n\nat low depth", commit="b" * 40),
    make_side("master"),
)
RUN = make_run("a", make_plan(sides=SIDES, info="bigger razoring margin", tc="60+0.6"), sprt())


def described(run: Run) -> Document:
    found = describe_run(run)
    assert found is not None
    return found


def ended(**results: int) -> Run:
    run, tally = RUN, replace(RUN.tally, tasks=1, results=pairs(**results))
    kind = run.kind.rejudged(tally.results)
    return replace(run, tally=tally, kind=kind, status=replace(run.status, finished=True))


def test_a_run_is_found_by_what_its_people_wrote() -> None:
    found = described(RUN)
    assert found.title == "razor2: bigger razoring margin"
    assert found.body.startswith(
        "bigger razoring margin\n\nRazoring with a larger margin\n\nat low"
    )
    assert "bounds [0, 10]" in found.body
    assert (found.user, found.time_class, found.commit) == (OWNER.name, "ltc", "b" * 40)


def test_a_run_that_plays_has_no_figures() -> None:
    playing = replace(RUN, tally=replace(RUN.tally, tasks=1, results=pairs(ww=100)))
    assert (described(playing).outcome, described(playing).elo) == ("", "")


@pytest.mark.parametrize(
    ("outcome", "results"),
    [
        ("passed", {"ll": 10, "even": 50, "ww": 400}),
        ("failed", {"ll": 400, "even": 50, "ww": 10}),
        ("positive", {"ll": 4000, "even": 50_000, "ww": 4010}),
        ("stopped", {"even": 10}),
    ],
)
def test_a_run_that_ended_has_its_outcome(outcome: str, results: dict[str, int]) -> None:
    assert described(ended(**results)).outcome == outcome


def test_a_run_that_ended_has_its_elo_with_the_games_behind_it() -> None:
    found = described(ended(ll=10, even=50, ww=400)).elo
    assert found.startswith("+")
    assert found.endswith("(920 games)")


def test_a_deleted_run_is_no_document() -> None:
    assert describe_run(replace(RUN, status=replace(RUN.status, deleted=True))) is None


def test_what_authors_wrote_waits_for_an_approver() -> None:
    waiting = replace(RUN, status=replace(RUN.status, approver=""))
    found = described(waiting)
    assert "at low depth" not in found.body
    assert found.commit == ""
    assert "bigger razoring margin" in found.body


def test_all_engines_of_a_run_are_named() -> None:
    sides = (make_side("x", engine="Zeta"), make_side("y", engine="Alpha"))
    found = described(make_run("a", make_plan(sides=sides)))
    assert (found.engine, found.engines) == ("Zeta", ("Alpha", "Zeta"))


def test_a_line_of_the_log_tells_what_somebody_said() -> None:
    event = about_run(Action.STOP_RUN, RUN, "boris", NOW, "the bench is wrong")
    found = describe_action(with_fields(event, id="7"), ["Stockfish"])
    assert found is not None
    assert (found.key, found.user) == ("action/7", "boris")
    assert found.body == "the bench is wrong\n\nBy boris."


def test_what_workers_cause_is_no_history() -> None:
    task = make_task(RUN)
    for action in (Action.FAILED_TASK, Action.CRASH_OR_TIME):
        assert describe_action(about_task(action, RUN, task, NOW, "flood"), ["Stockfish"]) is None
    complaint = about_task(Action.STOP_RUN, RUN, task, NOW, "wrong (not authorized)")
    assert describe_action(complaint, ["Stockfish"]) is None


def make_commit(message: str, repository: str = "https://github.com/a/b") -> KnownCommit:
    return KnownCommit(
        engine="Stockfish",
        hash="c" * 40,
        repository=repository,
        author="olga",
        at=NOW,
        message=message,
    )


def test_a_commit_has_its_first_line_as_title() -> None:
    found = describe_commit(make_commit("Tweak LMR\n\nMore at cut nodes.\n"))
    assert (found.title, found.body) == ("Tweak LMR", "More at cut nodes.")
    assert found.url == f"https://github.com/a/b/commit/{'c' * 40}"
    assert found.engines == ("Stockfish",)


def test_a_commit_without_words_has_its_hash_as_title() -> None:
    assert describe_commit(make_commit("")).title == "c" * 10


def test_only_what_a_browser_opens_is_an_address() -> None:
    assert find_commit_address("ssh://git@host/a", "c") == ""
    assert find_commit_address("file:///home/a", "c") == ""
    assert find_commit_address("https://gitlab.com/a/b", "c") == "https://gitlab.com/a/b/-/commit/c"


def test_a_page_has_its_heading_as_title() -> None:
    found = describe_doc_page(DocPage("why", "# Why Rookery\n\nBecause."))
    assert (found.title, found.body, found.url) == ("Why Rookery", "Because.", "/docs/why")


def test_a_page_does_not_answer_its_own_examples() -> None:
    page = DocPage("ask", "# Ask\n\nAsk so:\n\n```\nrookery ask razoring\n```\n\nThat is all.")
    assert describe_doc_page(page).body.split() == ["Ask", "so:", "That", "is", "all."]


def test_a_page_of_the_docs_is_searched_without_the_words_of_its_pictures() -> None:
    page = DocPage("ask", "# Ask\n\nSee:\n\n![Ask: razoring?](ask.png)\n\nThat is all.")
    assert describe_doc_page(page).body.split() == ["See:", "That", "is", "all."]


def test_an_upload_is_its_uploaders_unless_it_is_shared() -> None:
    upload = UploadedText(
        id="1", name="notes.md", user="olga", created=NOW, shared=False, text="words"
    )
    assert describe_upload(upload).owner == "olga"
    assert describe_upload(with_fields(upload, shared=True)).owner == ""


@pytest.mark.parametrize(
    ("tc", "named"),
    [("10+0.1", "stc"), ("60+0.6", "ltc"), ("180+1.8", "vltc"), ("N=5000", ""), ("odd", "")],
)
def test_time_controls_have_classes(tc: str, named: str) -> None:
    assert classify_time(tc) == named
