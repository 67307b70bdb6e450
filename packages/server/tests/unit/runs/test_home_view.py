"""The start page as a value, and what it says in the first hour."""

from dataclasses import replace

from rookery.core.model.task import Task
from rookery.server.farm.rules.lifecycle import Actor
from rookery.server.farm.rules.review import UNREAD, Hint, Severity
from rookery.server.farm.show.run_paces import RunPaces
from rookery.server.farm.views import RunSpeed
from rookery.server.http.pages.next_steps import list_next_steps
from rookery.server.machines.add.page import make_machines_view
from rookery.server.runs.home.view import (
    HomeData,
    HomeFilters,
    is_first_hour,
    make_home_view,
    read_filters,
)
from tests.makers import BOSS, NOW, OWNER, make_machine, make_plan, make_run, sprt

PENDING = make_run("pending", kind=sprt(), approved=False)
BUSY = make_run("busy", kind=sprt(), cores=8)
IDLE = make_run("idle", make_plan(owner="sven"))
RUNS = (PENDING, IDLE, BUSY)
PACES = RunPaces(speeds={BUSY.id: RunSpeed(5e6, 12.0)})


def data(viewer: Actor | None = None, **more: object) -> HomeData:
    made = HomeData(NOW, viewer, RUNS, paces=PACES)
    return replace(made, **more)  # type: ignore[arg-type]  # tests name the fields they need


def test_the_strip_sums_up_the_fleet() -> None:
    strip = {one.name: one.text for one in make_home_view(data(finished_today=3)).fleet}
    assert strip == {
        "cores": "8",
        "workers": "1",
        "games a minute": "12",
        "speed": "5.0 Mnps",
        "tests finished today": "3",
    }


def test_machines_that_find_nothing_to_play_are_seen_all_the_same() -> None:
    view = make_home_view(data(waiting_machines=2))
    assert {one.name: one.note for one in view.fleet if one.note} == {"workers": "2 waiting"}


def test_the_speed_of_a_young_run_is_that_of_its_machines() -> None:
    task = Task(BUSY.id, 0, 0, 100, make_machine(cores=8, nps=1e6), NOW, NOW)
    view = make_home_view(data(paces=RunPaces(new_tasks={BUSY.id: (task,)})))
    assert {one.name: one.text for one in view.fleet}["speed"] == "8.0 Mnps"


def test_no_speed_of_a_part_of_the_fleet_passes_for_that_of_the_whole() -> None:
    other = make_run("other", cores=4)
    view = make_home_view(data(unfinished=(BUSY, other)))
    assert {one.name: one.text for one in view.fleet}["speed"] == "–"


def test_of_many_hints_the_first_are_shown_and_the_others_counted() -> None:
    looks = tuple(Hint(Severity.LOOK, f"look {number}") for number in range(5))
    note = Hint(Severity.NOTE, "a note")
    (row,) = make_home_view(data(hints={PENDING.id: (*looks, note, UNREAD)})).waiting
    assert row.hints == (*looks[:3], UNREAD)
    assert row.more_hints == "and 2 more hints"


def test_runs_that_play_stand_apart_from_those_that_wait_for_a_machine() -> None:
    view = make_home_view(data())
    assert [row.run.id for row in view.playing.rows] == [BUSY.id]
    assert [row.run.id for row in view.idle.rows] == [IDLE.id]
    assert (view.waiting_count, view.playing.count, view.idle.count) == (1, 1, 1)


def test_only_an_approver_may_approve_and_not_the_own_run() -> None:
    for viewer, may in ((None, False), (OWNER, False), (BOSS, True), (Actor("olga", True), False)):
        (waiting,) = make_home_view(data(viewer)).waiting
        assert waiting.approvable is may


def test_filters_choose_runs_and_stay_in_addresses() -> None:
    view = make_home_view(data(filters=HomeFilters(user="sven")))
    assert [row.run.id for row in view.idle.rows] == [IDLE.id]
    assert view.waiting == ()
    assert view.tests.change() == "/tests?user=sven"


def test_a_filter_in_force_can_be_taken_away() -> None:
    view = make_home_view(data(filters=HomeFilters(user="sven", engine="Stockfish")))
    assert (view.user, view.without_user) == ("sven", "/?engine=Stockfish")
    assert [(one.word, one.address, one.chosen) for one in view.choices] == [
        ("all", "/", False),
        ("Stockfish", "/?user=sven&engine=Stockfish", True),
    ]


def test_ones_own_tests_and_those_of_an_engine_are_one_click_away() -> None:
    tiny = make_run("tiny", make_plan(engine="Tiny"))
    view = make_home_view(data(OWNER, unfinished=(*RUNS, tiny)))
    assert [(one.word, one.address, one.count) for one in view.choices] == [
        ("all", "/", ""),
        ("mine", "/?mine=1", ""),
        ("Stockfish", "/?engine=Stockfish", "3"),
        ("Tiny", "/?engine=Tiny", "1"),
    ]


def test_where_there_is_nothing_to_choose_nothing_is_offered() -> None:
    assert make_home_view(data()).choices == ()
    assert make_home_view(data(OWNER, unfinished=())).choices == ()


def test_addresses_of_older_pages_name_the_owner() -> None:
    assert read_filters({"owner": " ada "}) == read_filters({"user": "ada"}) == HomeFilters("ada")


def test_a_server_without_runs_is_bare() -> None:
    assert make_home_view(HomeData(NOW)).is_empty
    assert not make_home_view(data()).is_empty


def test_what_waits_for_approval_is_on_top_for_those_who_can_approve_it() -> None:
    assert make_home_view(data(BOSS)).waiting_first
    assert not make_home_view(data(OWNER)).waiting_first
    assert not make_home_view(data()).waiting_first


DEMO = make_run("demo", make_plan(engine="Fledgling"))
OWN = make_run("own")
ADDRESS = "https://farm.example.org"


def test_the_first_hour_lasts_until_an_engine_of_ones_own_is_tested() -> None:
    assert is_first_hour(data(unfinished=(DEMO,)))
    assert not is_first_hour(data(unfinished=(DEMO, OWN)))
    assert is_first_hour(HomeData(NOW))
    assert not is_first_hour(HomeData(NOW, filters=HomeFilters("ada")))


def test_each_is_told_what_they_can_do_themselves() -> None:
    def titles(viewer: Actor | None) -> list[str]:
        return [step.title for step in list_next_steps(viewer, ADDRESS)]

    own = ["Add your engine", "Test a change", "Add a machine"]
    assert titles(None) == ["Join in", "New here?"]
    assert titles(OWNER) == own
    assert titles(BOSS) == [*own, "Invite someone"]


def test_the_operators_commands_are_for_approvers_alone() -> None:
    for viewer, lines in ((None, ()), (OWNER, ()), (BOSS, ("./rookery user add NAME",))):
        steps = list_next_steps(viewer, ADDRESS, signing_up=False)
        assert tuple(line for step in steps for line in step.lines) == lines


def test_the_lines_for_a_machine_hold_its_token() -> None:
    fresh, ours, official = make_machines_view(ADDRESS, "olga", "rkw_x", "ab12").setups
    piped = "ROOKERY_ACCOUNT='olga:rkw_x' ROOKERY_FINGERPRINT=ab12 sh"
    assert f"{ADDRESS}/worker/install.sh | {piped}" in fresh.line
    assert "Needs Linux" in fresh.text
    assert "'olga:rkw_x'" in ours.line
    assert f"--server {ADDRESS}" in ours.line
    assert official.line == (
        "python3 worker.py olga rkw_x --protocol https --host farm.example.org --port 443"
        " --concurrency MAX"
    )


def test_an_address_keeps_its_port() -> None:
    *_, official = make_machines_view("http://127.0.0.1:8000", "olga", "rkw_x").setups
    assert "--protocol http --host 127.0.0.1 --port 8000" in official.line


def test_an_address_that_anybody_could_listen_to_is_told_as_that() -> None:
    assert make_machines_view("http://farm.example.org", "olga", "x").open_to_all
    assert not make_machines_view("http://127.0.0.1:8000", "olga", "x").open_to_all
    assert not make_machines_view(ADDRESS, "olga", "x").open_to_all


def test_without_a_token_there_is_nothing_to_paste() -> None:
    assert make_machines_view(ADDRESS, "olga", "").setups == ()
