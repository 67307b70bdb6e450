"""What hands do on pages in a real browser: the theme, menus and charts."""

from collections.abc import Iterator

import pytest

from tests.makers import run_id
from tests.pages.chromium import Tab, chromium
from tests.twins.sites import PASSWORD
from tests.wire.processes import Server, running_server

RUN = f"/runs/{run_id('late-move-pruning')}"
SPACE, TAB, ESCAPE, SLASH = (" ", 32), ("Tab", 9), ("Escape", 27), ("/", 191)
MENU = "document.querySelector('details.menu')"
THEME = "document.documentElement.dataset.theme"
FOCUSED = "document.activeElement"


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("scene"), module="tests.pages.scene") as started:
        yield started


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with chromium(tmp_path_factory.mktemp("profile")) as opened:
        opened.size(1280, 800)
        yield opened


def log_in(tab: Tab, scene: Server) -> None:
    tab.open(f"{scene.address}/login")
    tab.fill("#username", "boris")
    tab.fill("#password", PASSWORD)
    tab.ask("document.querySelector('form.stack').submit()")
    tab.until("location.pathname === '/' && document.readyState === 'complete'")


def test_a_theme_is_taken_at_once_and_kept(tab: Tab, scene: Server) -> None:
    tab.open(scene.address)
    tab.click(".theme button[value=dark]")
    tab.until(f"{THEME} === 'dark'")
    assert tab.ask("document.querySelector('.theme [aria-pressed=true]').value") == "dark"
    tab.open(f"{scene.address}/engines")
    assert tab.ask(THEME) == "dark"
    tab.click(".theme button[value='']")
    tab.until(f"{THEME} === undefined")


def test_menus_and_the_search_are_reached_by_keys(tab: Tab, scene: Server) -> None:
    log_in(tab, scene)
    tab.ask(f"{MENU}.querySelector('summary').focus()")
    tab.press(*SPACE)
    tab.until(f"{MENU}.open")
    tab.press(*TAB)
    tab.until(f"{FOCUSED}.closest('a, button') && {MENU}.contains({FOCUSED})")
    tab.press(*ESCAPE)
    tab.until(f"!{MENU}.open")
    assert tab.ask(f"{FOCUSED}.tagName") == "SUMMARY"
    tab.press(*SLASH)
    tab.until(f"{FOCUSED}.matches('.search-text')")


def open_chart(tab: Tab, scene: Server, name: str) -> tuple[float, float, float]:
    """Where the chart begins, its middle's height, and how wide it is."""
    tab.open(scene.address + RUN)
    assert tab.ask("typeof uPlot === 'function'"), "scripts/test fetches the packages of the charts"
    tab.until(f"document.querySelector('#chart-{name} .u-over')")
    left, top, width = tab.ask(
        f"(() => {{ const e = document.querySelector('#chart-{name} .u-over');"
        " e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect();"
        " return [r.x, r.y + r.height / 2, r.width]; })()"
    )
    return left, top, width


def test_the_speed_under_the_mouse_is_told_with_that_times_games_a_minute(
    tab: Tab, scene: Server
) -> None:
    left, top, width = open_chart(tab, scene, "speed")
    tab.call("Input.dispatchMouseEvent", type="mouseMoved", x=left + width / 2, y=top)
    last = "document.querySelectorAll('#chart-{} .u-legend .u-value')[1].textContent"
    tab.until(f"{last.format('speed')} === '39.2 Mnps'")
    assert tab.ask(f"/^[0-9.]+$/.test({last.format('pace')})")


def test_a_chart_tells_what_is_under_the_mouse_and_zooms(tab: Tab, scene: Server) -> None:
    left, top, width = open_chart(tab, scene, "elo")

    def move(kind: str, share: float, pressed: str = "none") -> None:
        tab.call(
            "Input.dispatchMouseEvent", type=kind, x=left + share * width, y=top, button=pressed,
            clickCount=int(kind != "mouseMoved"),
        )  # fmt: skip

    legend = "document.querySelector('#chart-elo .u-legend .u-value').textContent"
    move("mouseMoved", 0.5)
    tab.until(f"/\\d/.test({legend})")
    assert tab.ask(
        "/\\d/.test(document.querySelector('#chart-llr .u-legend .u-value').textContent)"
    )
    marks = "document.querySelectorAll('#chart-elo .u-select')[0].style.width"
    move("mousePressed", 0.5, "left")
    move("mouseMoved", 0.7, "left")
    tab.until(f"parseFloat({marks}) > 10")
    move("mouseReleased", 0.7, "left")
    tab.until(f"!(parseFloat({marks}) > 10)")
    tab.until("document.querySelector('#chart-elo .show-all').checkVisibility()")
    tab.click("#chart-llr .show-all")
    tab.until("[...document.querySelectorAll('.show-all')].every((each) => each.hidden)")


def test_a_chart_stays_as_wide_as_its_box(tab: Tab, scene: Server) -> None:
    open_chart(tab, scene, "elo")
    tab.ask("document.querySelector('#chart-elo .drawing').style.width = '300px'")
    tab.until("document.querySelector('#chart-elo .u-wrap').offsetWidth === 300")


def test_the_caption_of_a_drawn_chart_moves_with_its_run(tab: Tab, scene: Server) -> None:
    open_chart(tab, scene, "elo")
    caption = "document.querySelector('#chart-elo figcaption').textContent"
    tab.ask(f"window.before = {caption}")
    tab.ask("fetch('/scene/play').then(answer => answer.text())")
    tab.until(f"{caption} !== window.before")
    assert tab.ask("document.querySelector('#chart-elo .uplot') !== null")
    label = "document.querySelector('#chart-elo canvas').getAttribute('aria-labelledby')"
    assert tab.ask(f"document.getElementById({label}).textContent === {caption}")
