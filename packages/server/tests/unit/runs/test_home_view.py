"""What the start page says, also in the first hour."""

import re
from dataclasses import replace
from html import unescape

from rookery.core.model.actor import Actor
from rookery.core.model.task import Task
from rookery.server.farm.rules.review import UNREAD, Hint, Severity
from rookery.server.farm.views import RunSpeed
from rookery.server.machines.add.page import make_setup
from rookery.server.runs.home.view import (
    HomeData,
    HomeFilters,
    is_first_hour,
    make_home,
    may_approve,
    measure_fleet,
    read_filters,
    select_hints,
    split_runs,
)
from rookery.server.show.run_paces import RunPaces
from tests.makers import BOSS, NOW, OWNER, make_machine, make_plan, make_run, sprt
from tests.rendered import read_words, render

PENDING = make_run("pending", kind=sprt(), approved=False)
BUSY = make_run("busy", kind=sprt(), cores=8)
IDLE = make_run("idle", make_plan(owner="sven"))
RUNS = (PENDING, IDLE, BUSY)
PACES = RunPaces(speeds={BUSY.id: RunSpeed(5e6, 12.0)})


def data(viewer: Actor | None = None, **more: object) -> HomeData:
    made = HomeData(NOW, viewer, RUNS, paces=PACES)
    return replace(made, **more)  # type: ignore[arg-type]  # tests name the fields they need


def render_home(shown: HomeData) -> str:
    return render("home_live.html", make_home(shown))


def words(shown: HomeData) -> str:
    return read_words(render_home(shown))


def test_the_strip_sums_up_the_fleet() -> None:
    strip = "cores 8 workers 1 games a minute 12 speed 5.0 Mnps tests finished today 3"
    assert strip in words(data(finished_today=3))


def test_machines_that_find_nothing_to_play_are_seen_all_the_same() -> None:
    assert "workers 1 2 waiting games" in words(data(waiting_machines=2))


def test_the_speed_of_a_young_run_is_that_of_its_machines() -> None:
    task = Task(BUSY.id, 0, 0, 100, make_machine(cores=8, nps=1e6), NOW, NOW)
    assert "speed 8.0 Mnps" in words(data(paces=RunPaces(new_tasks={BUSY.id: (task,)})))


def test_no_speed_of_a_part_of_the_fleet_passes_for_that_of_the_whole() -> None:
    other = make_run("other", cores=4)
    shown = data(unfinished=(BUSY, other))
    assert measure_fleet(shown)[1] == 0.0
    assert "speed –" in words(shown)


def test_of_many_hints_the_first_are_shown_and_the_others_counted() -> None:
    looks = tuple(Hint(Severity.LOOK, f"look {number}") for number in range(5))
    found = (*looks, Hint(Severity.NOTE, "a note"), UNREAD)
    assert select_hints(found) == ((*looks[:3], UNREAD), 2)
    assert "and 2 more hints" in words(data(hints={PENDING.id: found}))


def test_runs_that_play_stand_apart_from_those_that_wait_for_a_machine() -> None:
    assert split_runs(data()) == ([PENDING], [BUSY], [IDLE])


def test_only_an_approver_may_approve_and_not_the_own_run() -> None:
    for viewer, may in ((None, False), (OWNER, False), (BOSS, True), (Actor("olga", True), False)):
        assert may_approve(viewer, PENDING) is may
        part = render_home(data(viewer))
        assert (f"/runs/{PENDING.id}/approve" in part) is may


def test_filters_choose_runs_and_stay_in_addresses() -> None:
    shown = data(filters=HomeFilters(user="sven"))
    assert split_runs(shown) == ([], [], [IDLE])
    assert 'href="/tests?user=sven"' in render_home(shown)


def test_a_filter_in_force_can_be_taken_away() -> None:
    shown = data(filters=HomeFilters(user="sven", engine="Stockfish"))
    assert list_choices(shown) == [
        ("/", "all"),
        ("/?user=sven&engine=Stockfish", "Stockfish 1"),
        ("/?engine=Stockfish", "by sven × remove this filter"),
    ]
    assert 'aria-current="true">Stockfish' in render_home(shown)


def list_choices(shown: HomeData) -> list[tuple[str, str]]:
    """The addresses and words of the filters to choose."""
    found = re.search(r'aria-label="Which tests">(.*?)</nav>', render_home(shown), re.DOTALL)
    links = re.findall(r'<a href="([^"]*)"[^>]*>(.*?)</a>', found[1] if found else "")
    return [(unescape(address), read_words(word)) for address, word in links]


def test_ones_own_tests_and_those_of_an_engine_are_one_click_away() -> None:
    tiny = make_run("tiny", make_plan(engine="Tiny"))
    assert list_choices(data(OWNER, unfinished=(*RUNS, tiny))) == [
        ("/", "all"),
        ("/?mine=1", "mine"),
        ("/?engine=Stockfish", "Stockfish 3"),
        ("/?engine=Tiny", "Tiny 1"),
    ]


def test_where_there_is_nothing_to_choose_nothing_is_offered() -> None:
    assert list_choices(data()) == []
    assert list_choices(data(OWNER, unfinished=())) == []


def test_addresses_of_older_pages_name_the_owner() -> None:
    assert read_filters({"owner": " ada "}) == read_filters({"user": "ada"}) == HomeFilters("ada")


def test_a_server_without_runs_is_bare() -> None:
    assert "Is the patch stronger?" in words(HomeData(NOW))
    assert "Is the patch stronger?" not in words(data())


def test_what_waits_for_approval_is_on_top_for_those_who_can_approve_it() -> None:
    for viewer, first in ((BOSS, True), (OWNER, False), (None, False)):
        part = render_home(data(viewer))
        assert (part.index('id="waiting"') < part.index('id="playing"')) is first


DEMO = make_run("demo", make_plan(engine="Fledgling"))
OWN = make_run("own")
ADDRESS = "https://farm.example.org"


def test_the_first_hour_lasts_until_an_engine_of_ones_own_is_tested() -> None:
    assert is_first_hour(data(unfinished=(DEMO,)))
    assert not is_first_hour(data(unfinished=(DEMO, OWN)))
    assert is_first_hour(HomeData(NOW))
    assert not is_first_hour(HomeData(NOW, filters=HomeFilters("ada")))


def render_steps(viewer: Actor | None, *, signing_up: bool = True) -> str:
    shown = {"viewer": viewer, "signing_up": signing_up, "address": ADDRESS}
    return render("next_steps.html", shown)


def test_each_is_told_what_they_can_do_themselves() -> None:
    def titles(viewer: Actor | None) -> list[str]:
        return re.findall(r"<h3>(.*?)</h3>", render_steps(viewer))

    own = ["Add your engine", "Test a change", "Add a machine"]
    assert titles(None) == ["Join in", "New here?"]
    assert titles(OWNER) == own
    assert titles(BOSS) == [*own, "Invite someone"]
    assert f"{ADDRESS}/signup" in render_steps(BOSS)


def test_the_operators_commands_are_for_approvers_alone() -> None:
    for viewer, told in ((None, False), (OWNER, False), (BOSS, True)):
        assert ("./rookery user add NAME" in render_steps(viewer, signing_up=False)) is told


def render_setup(address: str, token: str) -> str:
    return read_words(render("machines.html", make_setup(address, "olga", token, "ab12")))


def test_the_lines_for_a_machine_hold_its_token() -> None:
    page = render_setup(ADDRESS, "rkw_x")
    piped = "ROOKERY_ACCOUNT='olga:rkw_x' ROOKERY_FINGERPRINT=ab12 sh"
    assert f"{ADDRESS}/worker/install.sh | {piped}" in page
    assert "Needs Linux" in page
    assert "(umask 077; echo 'olga:rkw_x' > rookery-worker.token) && ./rookery worker" in page
    assert f"--server {ADDRESS} --token-file" in page
    assert (
        "python3 worker.py olga rkw_x --protocol https --host farm.example.org --port 443"
        " --concurrency MAX"
    ) in page


def test_an_address_keeps_its_port() -> None:
    page = render_setup("http://127.0.0.1:8000", "rkw_x")
    assert "--protocol http --host 127.0.0.1 --port 8000" in page


def test_an_address_that_anybody_could_listen_to_is_told_as_that() -> None:
    warning = "This address starts with http"
    assert warning in render_setup("http://farm.example.org", "x")
    assert warning not in render_setup("http://127.0.0.1:8000", "x")
    assert warning not in render_setup(ADDRESS, "x")


def test_without_a_token_there_is_nothing_to_paste() -> None:
    assert "--server" not in render_setup(ADDRESS, "")


def test_the_first_steps_leave_the_page_with_the_first_hour() -> None:
    shown = {"trouble": "", "role": "primary", "address": ADDRESS, "live": "/live", "part": ""}
    for first_hour in (True, False):
        page = {**shown, "first_hour": first_hour, "viewer": None, "signing_up": True}
        assert ("Next steps Join in" in read_words(render("home.html", page))) is first_hour
