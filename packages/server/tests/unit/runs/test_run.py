"""The page of a run as a value."""

import json
from dataclasses import replace

import pytest
from msgspec.structs import replace as with_fields

from rookery.core.model.events import SYSTEM, Action, Event
from rookery.core.model.kinds import SprtTest
from rookery.core.model.run import Run, Status
from rookery.core.model.task import Results
from rookery.core.stats.sprt import Verdict
from rookery.server.farm.read_values import Contribution, Grouping
from rookery.server.farm.rules.diagnosis import RunDiagnosis, RunFinding
from rookery.server.farm.rules.lifecycle import Actor
from rookery.server.farm.rules.observations import chart_point
from rookery.server.farm.show.run_row import Tone
from rookery.server.farm.views import RunSpeed
from rookery.server.http.pages.page import Rights, list_rights
from rookery.server.runs.run.contributions import make_contribution_rows, make_contribution_tables
from rookery.server.runs.run.view import RunPageData, make_run_view
from tests.makers import BOSS, NOW, OWNER, STRANGER, later, make_plan, make_run, pairs, sprt, spsa

OVER = Status(approver="boris", finished=True)


def played(status: Status | None = None) -> Run:
    run = make_run(kind=sprt(), cores=4)
    tally = replace(run.tally, results=pairs(ll=3, even=9, ww=8))
    return replace(run, tally=tally, status=status or run.status)


def group(by: Grouping, name: str, machines: int, results: Results) -> Contribution:
    return Contribution(by, name, machines, results, all_groups=1, all_games=2640)


def test_a_fresh_run_shows_no_number_that_is_none() -> None:
    view = make_run_view(RunPageData(make_run(kind=sprt()), NOW))
    assert (view.row.elo, view.los, view.row.pairs, view.charts) == ("–", "–", None, ())


@pytest.mark.parametrize(
    ("llr", "verdict", "told"),
    [
        (2.89, Verdict.ACCEPTED, True),
        (-2.9, Verdict.REJECTED, True),
        (2.95, Verdict.ACCEPTED, False),
        (2.8, Verdict.RUNNING, False),
    ],
)
def test_a_verdict_within_the_bounds_that_are_shown_says_why(
    llr: float, verdict: Verdict, told: bool
) -> None:
    kind = sprt()
    kind = replace(kind, state=with_fields(kind.state, llr=llr, verdict=verdict))
    view = make_run_view(RunPageData(make_run(kind=kind), NOW))
    assert bool(view.early) == told


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
    assert [(one.name, one.text) for one in view.evidence] == [("machines here", "0")]
    moving = RunDiagnosis(RunFinding.RUNNING, "results are coming in")
    assert make_run_view(RunPageData(played(), NOW, diagnosis=moving)).stage.reason == ""


def test_runs_that_stand_in_the_way_are_told_by_name_and_private_ones_not() -> None:
    evidence = (("ahead: aaa", "1234"), ("ahead: bbb", "1"), ("share", "90.0"))
    behind = RunDiagnosis(RunFinding.OUTRANKED, "runs of higher priority come first", evidence)
    view = make_run_view(RunPageData(make_run(), NOW, diagnosis=behind, names={"aaa": "idea"}))
    assert [(one.name, one.text) for one in view.evidence] == [
        ("would take idea first", "1,234"),
        ("would take another test first", "1"),
        ("share", "90.0"),
    ]


@pytest.mark.parametrize("plays", [True, False])
def test_the_charts_end_at_what_the_figures_beside_them_say(plays: bool) -> None:
    run = played()
    tally = replace(run.tally, workers=2 * plays, cores=16 * plays)
    run = replace(run, tally=tally, updated=later(70))
    samples = tuple(replace(chart_point(run, later(at), 1e6), games=at // 2) for at in (0, 30, 60))
    data = RunPageData(run, later(600), speed=RunSpeed(3e6, 10.0), samples=samples)
    view = make_run_view(data)
    pace, speed = view.charts[-2:]
    assert pace.last == view.row.rate
    assert speed.last == ("3.0 Mnps" if plays else "0 nps")
    at, value, cores = json.loads(pace.points)[-1]
    assert (at, cores) == (later(600 if plays else 70).timestamp(), int(view.row.cores))
    assert (value > 0) == plays


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
        (OWNER, played(OVER), Rights(extend=True, purge=True, delete=True)),
        (OWNER, played(replace(OVER, deleted=True)), Rights(restore=True)),
        (BOSS, played(Status()), Rights(approve=True, stop=True, modify=True, delete=True)),
        (BOSS, played(), Rights(withdraw=True, stop=True, modify=True, delete=True)),
        (BOSS, played(OVER), Rights(extend=True, purge=True, delete=True)),
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
    assert list_rights(viewer, run, NOW) == rights


def test_a_run_that_is_old_or_decided_is_not_offered_to_be_extended() -> None:
    run = played(OVER)
    assert isinstance(run.kind, SprtTest)
    passed = replace(run, kind=run.kind.rejudged(pairs(even=9, ww=800)))
    assert not list_rights(OWNER, passed, NOW).extend
    assert not list_rights(OWNER, run, later(31 * 86_400)).extend
    assert not list_rights(OWNER, played(), later(31 * 86_400)).modify


def test_groups_that_are_not_listed_are_told_and_count_for_the_shares() -> None:
    ada = Contribution(Grouping.USER, "ada", 1, pairs(even=9), all_groups=1201, all_games=180)
    (table,) = make_contribution_tables(sprt(), [ada])
    assert (table.more, table.rows[0].share, table.rows[0].link) == (
        "and 1,200 more",
        "10%",
        "/users/ada",
    )


def test_events_beyond_those_that_are_shown_are_told() -> None:
    told = Event(action=Action.STOP_RUN, at=NOW, actor="olga")
    view = make_run_view(RunPageData(make_run(), NOW, actions=(told,) * 21))
    assert (len(view.log), view.more_log) == (20, True)
    assert not make_run_view(RunPageData(make_run(), NOW, actions=(told,) * 20)).more_log


def test_the_outlook_tells_how_many_games_are_to_come() -> None:
    run = make_run()
    fixed = replace(run, tally=replace(run.tally, results=pairs(even=50)))
    left = f"{run.plan.games - 100:,}"
    assert make_run_view(RunPageData(fixed, NOW)).to_come == left
    results = pairs(ll=100, even=900, ww=110)
    test = make_run(plan=make_plan(games=100_000), kind=sprt().rejudged(results))
    going = replace(test, tally=replace(test.tally, results=results))
    assert make_run_view(RunPageData(going, NOW)).to_come.startswith("about ")
    young = make_run_view(RunPageData(make_run(kind=sprt(elo1=2.0)), NOW))
    assert young.to_come.startswith("roughly ")
    assert young.chance == ""


def test_a_group_that_differs_from_the_rest_stands_out() -> None:
    usual, odd = pairs(ll=20, even=400, ww=20), pairs(ll=150, even=140, ww=150)
    user = Grouping.USER
    found = [group(user, "ada", 3, usual), group(user, "bob", 1, usual)]
    groups = make_contribution_rows(sprt(), [*found, group(user, "eve", 1, odd)])
    assert [group.tone for group in groups][2] is Tone.RED
    assert groups[2].remark == "differs from the rest"
    assert groups[0].share == "33%"


def test_a_way_to_group_that_nobody_told_is_left_out() -> None:
    said = [
        group(Grouping.USER, "ada", 1, pairs(even=9)),
        group(Grouping.CPU, "", 1, pairs(even=9)),
        group(Grouping.RUNNER, "builtin", 1, pairs(even=6)),
        group(Grouping.RUNNER, "", 1, pairs(even=3)),
    ]
    users, runners = make_contribution_tables(sprt(), said)
    assert (users.title, runners.title) == ("User", "Runner")
    assert runners.rows[1].name == "fastchess of official workers"


def test_crashes_and_time_losses_are_named() -> None:
    (row,) = make_contribution_rows(
        sprt(), [group(Grouping.USER, "a", 1, pairs(even=9, crashes=1, time_losses=2))]
    )
    assert row.losses == "1 crash, 2 time losses"


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
    known = RunPageData(passed, NOW, has_long_preset=True)
    words = [word for _, word in make_run_view(known).next_steps]
    assert words == ["Clone or run again", "Confirm at LTC"]
    assert len(make_run_view(RunPageData(passed, NOW)).next_steps) == 1
    tune = make_run_view(RunPageData(make_run(kind=spsa()), NOW))
    assert [word for _, word in tune.next_steps] == ["Clone or run again", "Test these values"]


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
