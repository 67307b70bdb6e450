"""What to do in the first hour, and how a machine joins."""

from rookery.pages.home import next_steps
from rookery.pages.machines import machines_view
from tests.makers import make_plan, make_run

DEMO = make_run("demo", make_plan(engine="Fledgling"))
OWN = make_run("own")
ADDRESS = "https://farm.example.org"


def test_the_next_steps_are_told_while_only_the_bundled_engine_was_tested() -> None:
    assert next_steps([], ADDRESS) == ()
    assert next_steps([DEMO, OWN], ADDRESS) == ()
    steps = next_steps([DEMO], ADDRESS)
    assert [step.title for step in steps] == ["Add your engine", "Add a machine", "Invite someone"]
    assert f"./rookery login --server {ADDRESS} --user admin" in steps[0].lines


def test_people_are_invited_in_the_way_that_is_open() -> None:
    by_form, by_hand = (next_steps([DEMO], ADDRESS, signing_up=open_)[2] for open_ in (True, False))
    assert f"{ADDRESS}/signup" in by_form.text
    assert by_hand.lines == ("./rookery user add NAME",)


def test_the_lines_for_a_machine_hold_its_token() -> None:
    fresh, windows, house, official = machines_view(ADDRESS, "olga", "rkw_x", "ab12").ways
    piped = "ROOKERY_ACCOUNT='olga:rkw_x' ROOKERY_FINGERPRINT=ab12 sh"
    assert f"{ADDRESS}/worker/install.sh | {piped}" in fresh.line
    assert "$env:ROOKERY_FINGERPRINT='ab12'" in windows.line
    assert f"irm {ADDRESS}/worker/install.ps1" in windows.line
    assert "'olga:rkw_x'" in house.line
    assert f"--server {ADDRESS}" in house.line
    assert official.line == (
        "python3 worker.py olga rkw_x --protocol https --host farm.example.org --port 443"
        " --concurrency MAX"
    )


def test_an_address_keeps_its_port() -> None:
    *_, official = machines_view("http://127.0.0.1:8000", "olga", "rkw_x").ways
    assert "--protocol http --host 127.0.0.1 --port 8000" in official.line


def test_an_address_that_anybody_could_listen_to_is_told_as_that() -> None:
    assert machines_view("http://farm.example.org", "olga", "x").open_to_all
    assert not machines_view("http://127.0.0.1:8000", "olga", "x").open_to_all
    assert not machines_view(ADDRESS, "olga", "x").open_to_all


def test_without_a_token_there_is_nothing_to_paste() -> None:
    assert machines_view(ADDRESS, "olga", "").ways == ()
