"""The start page and the page of a run in a real browser."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from threading import Semaphore
from typing import ClassVar

import pytest

from tests.makers import run_id
from tests.pages.chromium import Tab, chromium
from tests.twins.sites import PASSWORD
from tests.web_servers import web_server
from tests.wire.processes import Server, running_server

RUN = f"/runs/{run_id('late-move-pruning')}"
GAMES = "Number(document.getElementById('games').textContent.replaceAll(',', ''))"
TAB, ENTER = ("Tab", 9), ("Enter", 13)


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("scene"), module="tests.pages.scene") as started:
        yield started


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory, scene: Server) -> Iterator[Tab]:
    """Logged in as an approver."""
    with chromium(tmp_path_factory.mktemp("profile")) as opened:
        opened.size(1280, 800)
        opened.open(f"{scene.address}/login")
        opened.ask(
            "document.getElementById('username').value = 'boris';"
            f"document.getElementById('password').value = '{PASSWORD}';"
            "document.querySelector('form.stack').submit()"
        )
        opened.until("location.pathname === '/' && document.readyState === 'complete'")
        yield opened


def play(tab: Tab) -> None:
    tab.ask("fetch('/scene/play').then(answer => answer.text())")


def test_numbers_move_and_nothing_else_does(tab: Tab, scene: Server) -> None:
    tab.open(scene.address + RUN)
    tab.ask("document.getElementById('priority').closest('details').open = true")
    tab.ask("document.getElementById('priority').focus()")
    tab.ask("window.same = document.querySelector('.wide-bar'); window.scrollTo(0, 120)")
    before = tab.ask(GAMES)
    play(tab)
    tab.until(f"{GAMES} > {before}")
    assert tab.ask("document.activeElement.id") == "priority"
    assert tab.ask("document.querySelector('details[open]') !== null")
    assert tab.ask("window.same === document.querySelector('.wide-bar')")
    assert tab.ask("window.scrollY") == 120
    assert tab.complaints() == []


def test_the_list_moves_too(tab: Tab, scene: Server) -> None:
    tab.open(scene.address)
    row = f"document.getElementById('run-{run_id('late-move-pruning')}').textContent"
    before = tab.ask(row)
    play(tab)
    tab.until(f"{row} !== {before!r}")


def test_a_tab_in_the_background_is_quiet(tab: Tab, scene: Server) -> None:
    tab.open(scene.address + RUN)
    before = tab.ask(GAMES)
    hide = "Object.defineProperty(document, 'hidden', {{configurable: true, value: {}}});"
    change = "document.dispatchEvent(new Event('visibilitychange'))"
    tab.ask(hide.format("true") + change)
    play(tab)
    tab.ask("new Promise(done => setTimeout(done, 1500))")
    assert tab.ask(GAMES) == before
    tab.ask(hide.format("false") + change)
    tab.until(f"{GAMES} > {before}")


@pytest.mark.parametrize("width", [360, 1081, 1100, 1240, 1280])
def test_the_bar_of_an_approver_with_a_long_name_fits(tab: Tab, scene: Server, width: int) -> None:
    tab.open(scene.address)
    tab.ask("document.querySelector('.account summary span').textContent = 'Maximiliane'.repeat(4)")
    tab.size(width, 740)
    assert tab.ask("document.querySelector('.account .badge') !== null")
    assert tab.ask("document.documentElement.scrollWidth") == width
    tab.size(1280, 800)


def test_one_click_approves(tab: Tab, scene: Server) -> None:
    tab.open(scene.address)
    name = f"run-{run_id('idea')}"
    tab.click(f"#waiting #{name} button")
    tab.until("document.querySelector('.note')?.textContent.includes('is approved')")
    assert tab.ask(f"document.querySelector('#idle #{name}') !== null")


def test_a_run_is_stopped_after_a_second_thought_and_the_page_tells_all_of_its_end(
    tab: Tab, scene: Server
) -> None:
    tab.open(f"{scene.address}/runs/{run_id('history-bonus')}")
    tab.click(".moves details:has([action$='/stop']) summary")
    tab.click(".moves details[open] button")
    tab.until("document.querySelector('.note')?.textContent.includes('is stopped')")
    assert "stopped" in tab.ask("document.querySelector('.big').textContent")
    assert "stopped" in tab.ask("document.querySelector('.happenings').textContent")


def test_a_run_is_reached_by_keyboard_alone(tab: Tab, scene: Server) -> None:
    tab.open(scene.address)
    tag = f"'{RUN}'"
    for _ in range(40):
        tab.press(*TAB)
        if tab.ask("document.activeElement.getAttribute('href')") == RUN:
            break
    assert tab.ask("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    tab.press(*ENTER)
    tab.until(f"location.pathname === {tag}")


@pytest.mark.parametrize(
    "path",
    ["/", RUN, f"/runs/{run_id('tune-search')}", f"/runs/{run_id('king-safety')}", "/machines/add"],
)
def test_nothing_is_wider_than_a_phone(tab: Tab, scene: Server, path: str) -> None:
    tab.size(360, 740)
    tab.open(scene.address + path)
    assert tab.ask("document.documentElement.scrollWidth") == 360
    assert tab.complaints() == []
    tab.size(1280, 800)


@pytest.mark.parametrize("width", [360, 768, 1100, 1280])
@pytest.mark.parametrize("path", ["/log", "/machines", f"{RUN}/tasks"])
def test_names_of_people_and_machines_may_be_long(
    tab: Tab, scene: Server, path: str, width: int
) -> None:
    tab.size(width, 740)
    tab.open(scene.address)
    # So that the log has a line, whichever tests ran before.
    tab.ask(
        "fetch('/tokens', {method: 'POST', body: new URLSearchParams({scope: 'read', days: '90',"
        " csrf_token: document.querySelector('[name=csrf-token]').content})})"
        ".then(answer => answer.text())"
    )
    tab.open(scene.address + path)
    named = '\'main tbody a:is([href^="/machines/"], [href*="user"])\''
    change = f"document.querySelectorAll({named}).forEach(one => one.textContent = '{'olga' * 18}')"
    assert tab.ask(f"{change}; document.querySelector({named}) !== null")
    assert tab.ask("document.documentElement.scrollWidth") == width
    tab.size(1280, 800)


class ServerAway(BaseHTTPRequestHandler):
    """A proxy that has nobody to ask."""

    answered: ClassVar[Semaphore] = Semaphore(0)

    def do_GET(self) -> None:
        self.send_error(502)
        self.answered.release()

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


def test_a_page_goes_on_after_its_server_came_back(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with chromium(tmp_path / "profile") as tab:
        with running_server(tmp_path, module="tests.pages.scene") as first:
            tab.open(first.address + RUN)
            tab.ask("document.getElementById('games').textContent = 'old'")
            port = first.place[1]
        told = "document.getElementById('connection')"
        tab.until(f"!{told}.hidden && /[0-9] s ago/.test({told}.textContent)")
        with web_server(ServerAway, port=port):
            # The stream, and then the part without one.
            assert all(ServerAway.answered.acquire(timeout=60) for _ in range(2))
            tab.ask("new Promise(done => setTimeout(done, 300))")
        assert not tab.ask(f"{told}.hidden")
        with running_server(tmp_path, port, module="tests.pages.scene"):
            tab.until(f"{GAMES} > 0")
            tab.until(f"{told}.hidden")
