"""The life of a test for three people in real browsers, with a real server and a real worker.

An author, an approver and a volunteer; none of them has a shell. The worker is started with the
very line that the volunteer is shown.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.commands import add_user
from tests.pages.chromium import Chromium, open_chromium
from tests.pages.people import DESK, PHONE, Person
from tests.rookery_process import RookeryProcess, run_rookery
from tests.workers.processes import WorkerProcess, worker_process

pytestmark = pytest.mark.timeout(300)

GAMES = "Number(document.getElementById('games')?.textContent.replaceAll(',', '') ?? 0)"


@dataclass(slots=True)
class Farm:
    """Those who meet here. The tests below follow one another, as days do."""

    folder: Path
    server: RookeryProcess
    author: Person
    approver: Person
    volunteer: Person
    run: str = ""
    token: str = ""


@pytest.fixture(scope="module", name="farm")
def _farm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Farm]:
    folder = tmp_path_factory.mktemp("life")
    assert add_user("alice", folder / "data", "--approver").returncode == 0
    with (
        run_rookery(folder / "data", "serve") as server,
        open_chromium(folder / "profile") as browser,
    ):
        yield Farm(
            folder,
            server,
            new_person(browser, server, "anton", DESK),
            new_person(browser, server, "alice", DESK, dark=True),
            new_person(browser, server, "vera", PHONE),
        )


def new_person(
    browser: Chromium,
    server: RookeryProcess,
    name: str,
    size: tuple[int, int],
    *,
    dark: bool = False,
) -> Person:
    tab = browser.new_person()
    tab.size(*size, dark=dark)
    return Person(name, tab, server.address)


def test_an_author_and_a_volunteer_are_let_in(farm: Farm) -> None:
    farm.author.sign_up()
    farm.volunteer.sign_up()
    farm.approver.log_in()
    assert "2" in farm.approver.tab.text("header a[href^='/users']")
    farm.approver.go("/users")
    for name in ("anton", "vera"):
        farm.approver.press(f"/users/{name}/accept")
    farm.author.log_in()
    farm.volunteer.log_in()


def test_a_volunteer_adds_a_machine_from_a_phone(farm: Farm) -> None:
    farm.volunteer.go("/machines/add")
    said = farm.volunteer.press("/machines/add")
    found = re.search(r"vera:(rkw_\w+)", said)
    assert found, said
    farm.token = found[1]
    farm.volunteer.tab.open(f"{farm.server.address}/machines/add")
    assert farm.token not in farm.volunteer.tab.text()


def test_an_author_submits_a_test_by_the_form(farm: Farm) -> None:
    author = farm.author
    author.go("/tests/new")
    author.tab.ask("window.leftBehind = true")
    author.fill(new_engine="Fledgling")
    author.tab.until("!window.leftBehind && document.readyState === 'complete'")
    author.fill(new_tag="careful", base_tag="careless", tests_repo="https://example.org/fledgling")
    author.fill(resolved_new="0" * 40, resolved_base="0" * 40)
    author.fill(new_options="Hash=16 Seed=1", base_options="Hash=16 Seed=2 Blunder=5", tc="N=200")
    author.fill(new_signature="30939", base_signature="30939", info="A test by a form")
    author.tab.submit("main button[name=do][value=submit]")
    place = str(author.tab.ask("location.pathname"))
    assert place.startswith("/runs/"), author.tab.text()
    farm.run = place.removeprefix("/runs/")
    author.look()
    assert "waits for approval" in author.tab.text()


def test_an_approver_reads_it_and_lets_it_play(farm: Farm) -> None:
    said = farm.approver.go(f"/runs/{farm.run}")
    assert "A test by a form" in said
    farm.approver.press(f"/runs/{farm.run}/approve")


def test_everybody_watches_it_move_while_a_real_worker_plays(farm: Farm) -> None:
    farm.author.go(f"/runs/{farm.run}")
    with volunteers_machine(farm):
        farm.author.tab.until(f"{GAMES} > 0")
        seen = farm.author.tab.ask(GAMES)
        farm.author.tab.until(f"{GAMES} > {seen}")
        farm.author.look()
        said = farm.volunteer.go("/machines")
        assert "playing" in said
        farm.approver.go(f"/runs/{farm.run}")
        farm.approver.press(f"/runs/{farm.run}/stop")
    assert "stopped" in farm.approver.go(f"/runs/{farm.run}")


@contextmanager
def volunteers_machine(farm: Farm) -> Iterator[WorkerProcess]:
    """A worker with the token that the page showed, which stands in the place of a password."""
    folder = farm.folder / "machine"
    folder.mkdir()
    (folder / "password").write_text(f"{farm.token}\n")
    with worker_process(farm.server.address, folder, user="vera") as worker:
        yield worker


def test_no_console_complained(farm: Farm) -> None:
    for person in (farm.author, farm.approver, farm.volunteer):
        assert person.tab.complaints() == []
