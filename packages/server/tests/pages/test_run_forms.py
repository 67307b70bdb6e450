"""What people have open on the page of a run, in a real browser: forms they type into, charts they
look at, texts they copy."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.makers import run_id
from tests.pages.chromium import Chromium, Tab, open_chromium
from tests.twins.sites import PASSWORD
from tests.wire.processes import Server, running_server

RUN = f"/runs/{run_id('late-move-pruning')}"
STOP = ".moves details:has([action$='/stop'])"
MODIFY = ".moves details:has([action$='/modify'])"
NOTE = "document.getElementById('moved-on')"
COPY = "[data-copies=text-fishtest]"


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("scene"), module="tests.pages.scene") as started:
        yield started


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Chromium]:
    with open_chromium(tmp_path) as opened:
        yield opened


def enter(browser: Chromium, scene: Server, *permissions: str) -> Tab:
    """An approver's browser."""
    tab = browser.new_person(*permissions)
    tab.size(1280, 900)
    tab.open(f"{scene.address}/login")
    tab.fill("#username", "boris")
    tab.fill("#password", PASSWORD)
    tab.submit("form.stack button")
    return tab


def approve(browser: Chromium, scene: Server, name: str) -> None:
    """By somebody elsewhere."""
    other = enter(browser, scene)
    other.open(f"{scene.address}/runs/{run_id(name)}")
    other.submit(".moves [action$='/approve'] button")


def play(tab: Tab) -> None:
    tab.ask("fetch('/scene/play').then(answer => answer.text())")


def test_a_change_that_is_refused_stands_there_as_it_was_typed(
    browser: Chromium, scene: Server
) -> None:
    tab = enter(browser, scene)
    tab.open(scene.address + RUN)
    tab.click(f"{MODIFY} summary")
    tab.fill("#num-games", "800001")
    assert not tab.ask("document.getElementById('num-games').checkValidity()")
    tab.fill("#throughput", "77")
    tab.ask(f'document.querySelector("{MODIFY} form").noValidate = true')
    tab.submit(f"{MODIFY} form button")
    assert tab.ask(f'document.querySelector("{MODIFY}").open')
    assert tab.ask("document.getElementById('num-games').value") == "800001"
    assert tab.ask("document.getElementById('throughput').value") == "77"
    assert "multiple of 1000" in tab.text("#num-games-error")
    assert tab.ask("document.activeElement.id") == "num-games"


def test_an_open_sheet_stays_when_the_run_is_approved_elsewhere(
    browser: Chromium, scene: Server
) -> None:
    tab = enter(browser, scene)
    tab.open(f"{scene.address}/runs/{run_id('simplify-time')}")
    tab.click(f"{STOP} summary")
    tab.fill(f"{STOP} .why", "it was tried before")
    tab.ask("window.same = true")
    approve(browser, scene, "simplify-time")
    tab.until(f"{NOTE}.checkVisibility()")
    assert tab.ask("window.same")
    assert tab.ask(f'document.querySelector("{STOP} .why").value') == "it was tried before"
    tab.submit("#moved-on a")
    assert not tab.ask(f"{NOTE}.checkVisibility()")
    assert not tab.ask("document.querySelector(\".moves [action$='/approve']\")")
    assert tab.complaints() == []


def test_a_page_without_an_open_sheet_is_loaded_again(browser: Chromium, scene: Server) -> None:
    tab = enter(browser, scene)
    tab.open(f"{scene.address}/runs/{run_id('idea')}")
    approve(browser, scene, "idea")
    tab.until("!document.querySelector(\".moves [action$='/approve']\")")
    tab.until(f"{NOTE} && !{NOTE}.checkVisibility()")


def test_what_is_copied_agrees_with_the_verdict_above_it(browser: Chromium, scene: Server) -> None:
    tab = enter(browser, scene, "clipboardReadWrite", "clipboardSanitizedWrite")
    tab.open(scene.address + RUN)
    total = "/Total: (\\d+)/.exec({})[1]"
    text = "document.getElementById('text-fishtest').textContent"
    games = "document.getElementById('games').textContent.replaceAll(',', '')"
    before = tab.ask(games)
    play(tab)
    tab.until(f"{games} !== '{before}'")
    assert tab.ask(f"{total.format(text)} === {games}")
    tab.click(COPY)
    tab.until(f"document.querySelector('{COPY}').textContent === 'Copied'")
    assert tab.ask(f"navigator.clipboard.readText().then((all) => all === {text})")
    assert tab.complaints() == []


def test_a_text_that_somebody_selects_stays_until_they_let_go(
    browser: Chromium, scene: Server
) -> None:
    tab = enter(browser, scene)
    tab.open(scene.address + RUN)
    place = "document.getElementById('text-fishtest')"
    before = tab.ask(f"getSelection().selectAllChildren({place}), {place}.textContent")
    games = tab.text("#games")
    play(tab)
    tab.until(f"document.getElementById('games').textContent !== '{games}'")
    assert tab.ask("getSelection().toString().trim()") == before.strip()
    tab.ask("getSelection().removeAllRanges()")
    tab.until(f"{place}.textContent !== {before!r}")


def test_contributions_follow_the_games(browser: Chromium, scene: Server) -> None:
    tab = enter(browser, scene)
    tab.open(scene.address + RUN)
    tab.ask("document.querySelector('#contributed details').open = true")
    tab.ask("document.querySelector('#contributed .number').textContent = 'old'")
    tab.ask("fetchRecent()")
    assert tab.ask("document.querySelector('#contributed .number').textContent") == "Machines"
    assert tab.ask("document.querySelector('#contributed details').open")


POINTS = "JSON.parse(document.getElementById('chart-{0}').dataset.points)"
DRAWN = "uPlot.sync('time').plots.find((each) => each.root.closest('#chart-{0}')).data"
TOLD = "document.querySelector('#about-{0} .soft').textContent"
RATE = (
    "[...document.querySelectorAll('.figures dt')]"
    ".find((each) => each.textContent === 'Games a minute').nextElementSibling.textContent"
)


def test_lines_over_time_end_where_the_figures_beside_them_are(
    browser: Chromium, scene: Server
) -> None:
    tab = enter(browser, scene)
    tab.open(scene.address + RUN)
    tab.until("document.querySelector('#chart-pace .uplot')")
    drawn, points, told = DRAWN.format("pace"), POINTS.format("pace"), TOLD.format("pace")
    before = tab.ask(points)
    tab.ask("new Promise((done) => setTimeout(done, 1100))")
    play(tab)
    tab.until(f"{points}.at(-1)[0] !== {before[-1][0]}")
    tab.until(f"{drawn}[0].at(-1) === {points}.at(-1)[0]")
    assert tab.ask(f"{drawn}[1].at(-1) === {points}.at(-1)[1]")
    assert tab.ask(f"{told} === {RATE}")
    assert tab.ask(f"Math.round({drawn}[1].at(-1)) === Number({told}.replaceAll(',', ''))")
    assert tab.complaints() == []


def test_lines_over_time_of_a_run_that_nobody_plays_end_at_nothing(
    browser: Chromium, scene: Server
) -> None:
    tab = enter(browser, scene)
    tab.open(f"{scene.address}/runs/{run_id('left-alone')}")
    tab.until("document.querySelector('#chart-speed .uplot')")
    assert tab.ask(f"[{RATE}, {TOLD.format('pace')}, {TOLD.format('speed')}]") == [
        "0",
        "0",
        "0 nps",
    ]
    for name in ("pace", "speed"):
        line = tab.ask(f"{DRAWN.format(name)}[1]")
        assert (line[-1], min(line[:-1]) > 0) == (0, True)
        assert tab.ask(f"{DRAWN.format(name)}[0].length === {POINTS.format(name)}.length")
