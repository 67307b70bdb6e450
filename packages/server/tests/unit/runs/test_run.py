"""The parts of a run's page: their values, and what they say of them."""

import json
from dataclasses import replace

import pytest
from msgspec.structs import replace as with_fields

from rookery.core.model.actor import Actor
from rookery.core.model.events import SYSTEM, Action, Event
from rookery.core.model.kinds import SprtTest
from rookery.core.model.run import Run, Status
from rookery.core.model.task import Results
from rookery.core.stats.residuals import Colour
from rookery.core.stats.sprt import Verdict
from rookery.server.farm.read_values import Contribution, Grouping
from rookery.server.farm.rules.diagnosis import RunDiagnosis, RunFinding
from rookery.server.farm.rules.observations import chart_point
from rookery.server.farm.views import RunSpeed
from rookery.server.http.pages.formatting import format_rate
from rookery.server.runs.run.changes import describe_change
from rookery.server.runs.run.contributions import compare_groups
from rookery.server.runs.run.parts import (
    LiveRun,
    RecentRun,
    draw_live_charts,
    estimate_row,
    list_evidence,
    show_live,
    show_recent,
)
from rookery.server.show.heading import describe_stage
from rookery.server.show.rights import Rights, list_rights
from rookery.server.show.run_tables import tell_event
from rookery.server.show.run_texts import list_next_steps, list_texts
from tests.makers import BOSS, NOW, OWNER, STRANGER, later, make_plan, make_run, pairs, sprt, spsa
from tests.rendered import read_words, render

OVER = Status(approver="boris", finished=True)


def played(status: Status | None = None) -> Run:
    run = make_run(kind=sprt(), cores=4)
    tally = replace(run.tally, results=pairs(ll=3, even=9, ww=8))
    return replace(run, tally=tally, status=status or run.status)


def group(by: Grouping, name: str, machines: int, results: Results) -> Contribution:
    return Contribution(by, name, machines, results, all_groups=1, all_games=2640)


def read_live(live: LiveRun) -> str:
    return read_words(render("run_live.html", show_live(live)))


def read_groups(run: Run, *found: Contribution) -> str:
    recent = RecentRun(run, NOW, contributions=found)
    return read_words(render("run_contributions.html", show_recent(recent)))


def whole_page(run: Run, *, private: bool = False) -> str:
    """The page of a stranger."""
    values = {
        **show_recent(RecentRun(run, NOW)),
        **show_live(LiveRun(run, NOW)),
        "address": "https://farm.example.org",
        "private": private,
        "earlier": None,
        "following": False,
        "has_change": False,
        "change": describe_change(run, None),
    }
    return render("run.html", values)


def test_a_fresh_run_shows_no_number_that_is_none() -> None:
    fresh = LiveRun(make_run(kind=sprt()), NOW)
    assert " Elo – " in read_live(fresh)
    assert " LOS – " in read_live(fresh)
    assert "Pairs by score" not in read_live(fresh)
    assert show_live(fresh)["charts"] == ()


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
    run = make_run(kind=replace(kind, state=with_fields(kind.state, llr=llr, verdict=verdict)))
    assert ("Decided a little before the bound" in read_live(LiveRun(run, NOW))) == told


def test_the_last_point_of_a_chart_is_where_the_run_is() -> None:
    live = LiveRun(played(), NOW)
    assert draw_live_charts(live, estimate_row(live)) == ()
    assert "16 won, 6 lost, 18 drawn" in read_live(live)


def test_groups_of_a_sequential_test_say_how_their_elo_differs_from_its_own() -> None:
    ada = group(Grouping.USER, "ada", 1, pairs(even=9))
    assert "from its games alone" in read_groups(played(), ada)
    assert "from its games alone" not in read_groups(make_run(kind=spsa()), ada)


def test_an_idle_run_says_why() -> None:
    idle = RunDiagnosis(RunFinding.NO_WORKERS, "no worker is connected", (("machines", "0"),))
    assert list(list_evidence(idle, {})) == [("machines here", 0)]
    shown = read_live(LiveRun(make_run(), NOW, diagnosis=idle))
    assert "No worker is connected. machines here: 0" in shown
    moving = RunDiagnosis(RunFinding.RUNNING, "results are coming in")
    assert describe_stage(played(), moving, (), NOW).reason == ""


def test_runs_that_stand_in_the_way_are_told_by_name_and_private_ones_not() -> None:
    evidence = (("ahead: aaa", "1234"), ("ahead: bbb", "1"), ("share", "90.0"))
    behind = RunDiagnosis(RunFinding.OUTRANKED, "runs of higher priority come first", evidence)
    shown = read_live(LiveRun(make_run(), NOW, diagnosis=behind, names={"aaa": "idea"}))
    assert "would take idea first: 1,234 would take another test first: 1 share: 90.0" in shown


@pytest.mark.parametrize("plays", [True, False])
def test_the_charts_end_at_what_the_figures_beside_them_say(plays: bool) -> None:
    run = played()
    tally = replace(run.tally, workers=2 * plays, cores=16 * plays)
    run = replace(run, tally=tally, updated=later(70))
    samples = tuple(replace(chart_point(run, later(at), 1e6), games=at // 2) for at in (0, 30, 60))
    live = LiveRun(run, later(600), speed=RunSpeed(3e6, 10.0), samples=samples)
    row = estimate_row(live)
    pace, speed = draw_live_charts(live, row)[-2:]
    assert pace.last == format_rate(row.rate)
    assert speed.last == ("3.0 Mnps" if plays else "0 nps")
    at, value, cores = json.loads(pace.points)[-1]
    assert (at, cores) == (later(600 if plays else 70).timestamp(), run.tally.cores)
    assert (value > 0) == plays


def test_a_tune_shows_its_parameters() -> None:
    live = LiveRun(make_run(kind=spsa()), NOW)
    assert "P1 100 100.00 0.00 0 to 200" in read_live(live)
    assert "0 of 500 iterations" in read_live(live)
    assert 'd="M0 10L100 10"' in render("run_live.html", show_live(live))


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
    shown = read_groups(played(), ada)
    assert "ada 1 18 10% " in shown
    assert "and 1,200 more" in shown
    page = render("run_contributions.html", show_recent(RecentRun(played(), NOW, (ada,))))
    assert 'href="/users/ada"' in page


def test_events_beyond_those_that_are_shown_are_told() -> None:
    told = Event(action=Action.STOP_RUN, at=NOW, actor="olga")
    for number, more in ((21, True), (20, False)):
        values = show_recent(RecentRun(make_run(), NOW, actions=(told,) * number))
        shown = read_words(render("run_recent.html", values))
        assert shown.count("stopped by olga") == 20
        assert ("These are the latest 20" in shown) == more


def test_the_outlook_tells_how_many_games_are_to_come() -> None:
    run = make_run()
    fixed = replace(run, tally=replace(run.tally, results=pairs(even=50)))
    assert f"Games left {run.plan.games - 100:,} " in read_live(LiveRun(fixed, NOW))
    results = pairs(ll=100, even=900, ww=110)
    test = make_run(plan=make_plan(games=100_000), kind=sprt().rejudged(results))
    going = replace(test, tally=replace(test.tally, results=results))
    assert "Games left about " in read_live(LiveRun(going, NOW))
    young = read_live(LiveRun(make_run(kind=sprt(elo1=2.0)), NOW))
    assert "Games left roughly " in young
    assert "Chance to pass" not in young


def test_a_group_that_differs_from_the_rest_stands_out() -> None:
    usual, odd = pairs(ll=20, even=400, ww=20), pairs(ll=150, even=140, ww=150)
    user = Grouping.USER
    found = [group(user, "ada", 3, usual), group(user, "bob", 1, usual), group(user, "eve", 1, odd)]
    groups = compare_groups(sprt(), found)[user]
    assert [one.colour for one in groups][2] is Colour.RED
    shown = read_groups(played(), *found)
    assert "eve ▲ differs from the rest 1 880 33% " in shown


def test_a_way_to_group_that_nobody_told_is_left_out() -> None:
    said = [
        group(Grouping.USER, "ada", 1, pairs(even=9)),
        group(Grouping.CPU, "", 1, pairs(even=9)),
        group(Grouping.RUNNER, "builtin", 1, pairs(even=6)),
        group(Grouping.RUNNER, "", 1, pairs(even=3)),
    ]
    assert [*compare_groups(sprt(), said)] == [Grouping.USER, Grouping.RUNNER]
    shown = read_groups(played(), *said)
    assert "Processor" not in shown
    assert "fastchess of official workers 1 6 " in shown


def test_crashes_and_time_losses_are_named() -> None:
    lost = group(Grouping.USER, "a", 1, pairs(even=9, crashes=1, time_losses=2))
    assert "a 1 crash, 2 time losses 1 18 " in read_groups(played(), lost)


def test_what_is_pasted_elsewhere_is_ready_to_copy() -> None:
    (_, _, fishtest), (_, _, openbench) = list_texts(played())
    assert "Ptnml(0-2): 3, 0, 9, 0, 8" in fishtest
    assert "Penta | [3, 0, 9, 0, 8]" in openbench
    assert [text for _, _, text in list_texts(make_run(kind=spsa()))] == [
        "P1 100",
        "P1 100",
        "setoption name P1 value 100",
        "P1,100,0,200,10,0.002",
    ]


def test_a_short_test_that_passed_can_be_confirmed_and_a_tune_tested() -> None:
    run = played(OVER)
    assert isinstance(run.kind, SprtTest)
    passed = replace(run, kind=run.kind.rejudged(pairs(even=9, ww=800)))
    words = [word for _, word in list_next_steps(passed, has_long_preset=True)]
    assert words == ["Clone or run again", "Confirm at LTC"]
    assert len(list_next_steps(passed)) == 1
    tune = list_next_steps(make_run(kind=spsa()))
    assert [word for _, word in tune] == ["Clone or run again", "Test these values"]


def test_a_link_to_a_private_run_tells_nothing() -> None:
    told = 'content="Stockfish, gain [0, 10]: playing after 40 games, Elo +'
    assert told in whole_page(played())
    assert "og:" not in whole_page(played(), private=True)


def test_what_happened_is_told_in_words() -> None:
    finished = Event(action=Action.FINISHED_RUN, at=NOW, actor=SYSTEM)
    approved = Event(action=Action.APPROVE_RUN, at=NOW, actor="boris", message="approved")
    assert tell_event(finished) == ("finished", "the server", "")
    assert tell_event(approved) == ("approved", "boris", "")
