"""The page of a run as a value."""

from dataclasses import replace

import pytest

from rookery.farm.read_values import Contribution, Grouping
from rookery.model.events import SYSTEM, Action, Event
from rookery.model.kinds import SprtTest
from rookery.model.run import Run, Status
from rookery.pages.page import Rights, list_rights
from rookery.pages.run import RunPageData, make_run_view
from rookery.pages.run_contributions import make_contribution_rows, make_contribution_tables
from rookery.pages.run_row import Tone
from rookery.rules.diagnosis import RunDiagnosis, RunFinding
from rookery.rules.lifecycle import Actor
from tests.makers import BOSS, NOW, OWNER, STRANGER, make_run, pairs, sprt, spsa

OVER = Status(approver="boris", finished=True)


def played(status: Status | None = None) -> Run:
    run = make_run(kind=sprt(), cores=4)
    tally = replace(run.tally, results=pairs(ll=3, even=9, ww=8))
    return replace(run, tally=tally, status=status or run.status)


def test_a_fresh_run_shows_no_number_that_is_none() -> None:
    view = make_run_view(RunPageData(make_run(kind=sprt()), NOW))
    assert (view.row.elo, view.los, view.row.pairs, view.charts) == ("–", "–", None, ())


def test_the_last_point_of_a_chart_is_where_the_run_is() -> None:
    view = make_run_view(RunPageData(played(), NOW))
    assert view.charts == ()
    assert view.results == "16 won, 6 lost, 18 drawn"


def test_groups_of_a_sequential_test_say_how_their_elo_differs_from_its_own() -> None:
    assert "alone" in make_run_view(RunPageData(played(), NOW)).contributions_note
    assert make_run_view(RunPageData(make_run(), NOW)).contributions_note == ""


def test_an_idle_run_says_why() -> None:
    idle = RunDiagnosis(RunFinding.NO_WORKERS, "no worker is connected", (("machines", "0"),))
    view = make_run_view(RunPageData(make_run(), NOW, diagnosis=idle))
    assert view.stage.reason == "No worker is connected."
    assert [(one.name, one.text) for one in view.evidence] == [("machines", "0")]
    moving = RunDiagnosis(RunFinding.RUNNING, "results are coming in")
    assert make_run_view(RunPageData(played(), NOW, diagnosis=moving)).stage.reason == ""


def test_runs_that_stand_in_the_way_are_told_by_name_and_private_ones_not() -> None:
    evidence = (("ahead: aaa", "3"), ("ahead: bbb", "1"), ("share", "90.0"))
    behind = RunDiagnosis(RunFinding.OUTRANKED, "runs of higher priority come first", evidence)
    view = make_run_view(RunPageData(make_run(), NOW, diagnosis=behind, names={"aaa": "idea"}))
    told = [one.name for one in view.evidence]
    assert told == ["ahead: idea", "ahead: another run", "share"]


def test_a_tune_shows_its_parameters() -> None:
    view = make_run_view(RunPageData(make_run(kind=spsa()), NOW))
    (row,) = view.parameters
    assert (row.name, row.start, row.now, row.moved) == ("P1", "100", "100.00", "0.00")
    assert row.path == "M0 10L100 10"
    assert view.iterations == "0 of 500 iterations"


@pytest.mark.parametrize(
    ("viewer", "run", "rights"),
    [
        (None, played(), Rights()),
        (STRANGER, played(), Rights()),
        (OWNER, played(), Rights(stop=True, modify=True, delete=True)),
        (OWNER, played(OVER), Rights(purge=True, delete=True)),
        (OWNER, played(replace(OVER, deleted=True)), Rights(restore=True)),
        (BOSS, played(Status()), Rights(approve=True, stop=True, modify=True, delete=True)),
        (
            Actor("olga", approver=True),
            played(Status()),
            Rights(stop=True, modify=True, delete=True),
        ),
    ],
)
def test_buttons_are_those_that_this_person_may_use(
    viewer: Actor | None, run: Run, rights: Rights
) -> None:
    assert list_rights(viewer, run) == rights


def test_a_group_that_differs_from_the_rest_stands_out() -> None:
    usual, odd = pairs(ll=20, even=400, ww=20), pairs(ll=150, even=140, ww=150)
    user = Grouping.USER
    found = [Contribution(user, "ada", 3, usual), Contribution(user, "bob", 1, usual)]
    groups = make_contribution_rows(sprt(), [*found, Contribution(user, "eve", 1, odd)])
    assert [group.tone for group in groups][2] is Tone.RED
    assert groups[2].remark == "differs from the rest"
    assert groups[0].share == "33%"


def test_a_way_to_group_that_nobody_told_is_left_out() -> None:
    said = [
        Contribution(Grouping.USER, "ada", 1, pairs(even=9)),
        Contribution(Grouping.CPU, "", 1, pairs(even=9)),
        Contribution(Grouping.RUNNER, "builtin", 1, pairs(even=6)),
        Contribution(Grouping.RUNNER, "", 1, pairs(even=3)),
    ]
    users, runners = make_contribution_tables(sprt(), said)
    assert (users.title, runners.title) == ("User", "Runner")
    assert runners.rows[1].name == "fastchess of official workers"


def test_crashes_and_time_losses_are_named() -> None:
    (group,) = make_contribution_rows(
        sprt(), [Contribution(Grouping.USER, "a", 1, pairs(even=9, crashes=1, time_losses=2))]
    )
    assert group.losses == "1 crash, 2 time losses"


def test_what_is_pasted_elsewhere_is_ready_to_copy() -> None:
    fishtest, openbench = make_run_view(RunPageData(played(), NOW)).texts
    assert "Ptnml(0-2): 3, 0, 9, 0, 8" in fishtest.text
    assert "Penta | [3, 0, 9, 0, 8]" in openbench.text
    tune = make_run_view(RunPageData(make_run(kind=spsa()), NOW))
    assert [one.text for one in tune.texts] == [
        "P1 100",
        "P1 100",
        "setoption name P1 value 100",
        "P1,100,0,200,10,0.002",
    ]


def test_a_short_test_that_passed_can_be_confirmed_and_a_tune_tested() -> None:
    run = played(OVER)
    assert isinstance(run.kind, SprtTest)
    passed = replace(run, kind=run.kind.rejudged(pairs(even=9, ww=800)))
    words = [word for _, word in make_run_view(RunPageData(passed, NOW)).next_steps]
    assert words == ["Clone", "Confirm at LTC"]
    tune = make_run_view(RunPageData(make_run(kind=spsa()), NOW))
    assert [word for _, word in tune.next_steps] == ["Clone", "Test these values"]


def test_a_link_to_a_private_run_tells_nothing() -> None:
    shown = make_run_view(RunPageData(played(), NOW))
    assert shown.preview.startswith("Stockfish, gain [0, 10]: playing after 40 games, Elo +")
    assert make_run_view(RunPageData(played(), NOW, private=True)).preview == ""


def test_what_happened_is_told_in_words() -> None:
    actions = (
        Event(action=Action.FINISHED_RUN, at=NOW, actor=SYSTEM),
        Event(action=Action.APPROVE_RUN, at=NOW, actor="boris", message="approved"),
    )
    told = make_run_view(RunPageData(make_run(), NOW, actions=actions)).log
    assert [(one.what, one.who, one.message) for one in told] == [
        ("finished", "the server", ""),
        ("approved", "boris", ""),
    ]
