"""Retakes the pictures of README and docs, for `scripts/shots --docs`.

README shows a seeded farm. The walk-through is really carried out: a small engine is added from a
git server on this machine, tested and approved, a worker plays, and pictures are taken on the way.
Numbers that the texts quote from the pictures must be corrected by hand afterwards.
"""

import re
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from time import monotonic, sleep

from scripts.shots_of_farms import PASSWORD, find_names, serve_farm
from tests.commands import add_user
from tests.engines import repositories
from tests.engines.git_server import serving
from tests.pages.chromium import Chromium, Tab, open_chromium
from tests.pages.people import Person
from tests.rookery_process import run_rookery
from tests.workers.processes import worker_process

WIDTH = 1280
FARM = ("--runs", "14", "--machines", "400", "--history", "120")
"""The size of the farm, so small that the first screen shows waiting and active tests."""
LIMIT_SECONDS = 600.0
GAMES = "Number(document.getElementById('games')?.textContent.replaceAll(',', '') ?? 0)"
QUESTION = "Has anybody tried to value pieces by their place?"


def take_docs(out: Path, scratch: Path) -> list[Path]:
    """Takes all pictures into a folder; returns their files."""
    scratch.mkdir(parents=True, exist_ok=True)
    with open_chromium(scratch / "profile") as browser:
        return [*take_readme(browser, out, scratch), *take_walk(browser, out, scratch)]


def take_readme(browser: Chromium, out: Path, scratch: Path) -> list[Path]:
    tab = browser.new_person()
    with serve_farm(scratch, FARM) as farm:
        names = find_names(farm.address)
        alva = Person("alva", tab, farm.address)
        tab.size(WIDTH, 900)
        alva.log_in(PASSWORD)
        pages = (("start", "/", 900), ("run", f"/runs/{names['passed']}", 880))
        return [_open_and_take(alva, out / f"{name}.png", *page) for name, *page in pages]


def _open_and_take(person: Person, file: Path, *page: object) -> Path:
    path, height = page
    person.tab.open(f"{person.address}{path}")
    return _take(person.tab, file, int(str(height)))


def _take(tab: Tab, file: Path, height: int) -> Path:
    tab.size(WIDTH, height)
    tab.ask("window.scrollTo(0, 0)")
    sleep(1.0)
    tab.picture(file)
    print(file.name, flush=True)
    return file


def take_walk(browser: Chromium, out: Path, scratch: Path) -> list[Path]:
    """Takes the pictures from an engine's git repository to a verdict, with one machine."""
    repositories.kestrelet(scratch / "sources" / "kestrelet")
    settings = {
        "ROOKERY_FRONT_END": "1",
        "ROOKERY_GIT_SCHEMES": "http",
        "ROOKERY_GIT_HOSTS": "127.0.0.1",
    }
    data = scratch / "walk"
    assert add_user("alva", data, "--approver").returncode == 0
    assert add_user("kaia", data).returncode == 0
    with ExitStack() as stack:
        sources = stack.enter_context(serving(scratch / "sources", tls=False))
        server = stack.enter_context(run_rookery(data, "serve", settings=settings))
        kaia, alva = (
            Person(name, browser.new_person(), server.address) for name in ("kaia", "alva")
        )
        for person in (kaia, alva):
            person.tab.size(WIDTH, 900)
            person.log_in()
        taken = [_add_engine(kaia, f"{sources}/kestrelet", out), _fill_test(kaia, out)]
        kaia.tab.submit("main button[name=do][value=submit]")
        run = str(kaia.tab.ask("location.pathname"))
        taken.append(_open_and_take(alva, out / "approve.png", run, 520))
        alva.press(f"{run}/approve")
        stack.enter_context(worker_process(server.address, scratch / "machine", user="kaia"))
        return [*taken, *_watch(kaia, run, out), _ask(kaia, out)]


def _enter(browser: Chromium, address: str, name: str) -> Person:
    person = Person(name, browser.new_person(), address)
    person.tab.size(WIDTH, 900)
    person.log_in()
    return person


def _add_engine(person: Person, source: str, out: Path) -> Path:
    person.go("/teams")
    person.fill(name="nest")
    person.press("/teams")
    person.go("/engines/new")
    person.fill(name="Kestrelet", source=source, team="nest", **{"recipe.kind": "make"})
    picture = _take(person.tab, out / "engine-form.png", 600)
    person.press("/engines/new", "button[value=save]")
    return picture


def _fill_test(person: Person, out: Path) -> Path:
    person.go("/tests/new")
    person.tab.ask("window.leftBehind = true")
    person.fill(new_engine="Kestrelet")
    person.tab.until("!window.leftBehind && document.readyState === 'complete'")
    person.fill(new_tag="piece-places", base_tag="main", info="Pieces belong in the middle")
    return _take(person.tab, out / "new-test.png", 990)


def _watch(person: Person, run: str, out: Path) -> list[Path]:
    person.tab.open(person.address + run)
    _until(lambda: bool(person.tab.ask(f"{GAMES} >= 40")), "forty games")
    taken = [_take(person.tab, out / "playing.png", 900)]
    _until(lambda: bool(re.search(r"passed|failed", person.tab.text(".big"))), "the verdict")
    taken.append(_open_and_take(person, out / "verdict.png", run, 860))
    link = "main tbody a[href*='/games/']"
    _until(lambda: _has_games(person, run, link), "the games")
    person.tab.submit(link)
    person.tab.until("document.querySelectorAll('main piece').length > 2")
    return [*taken, _take(person.tab, out / "game.png", 880)]


def _has_games(person: Person, run: str, link: str) -> bool:
    person.tab.open(f"{person.address}{run}/games")
    return bool(person.tab.ask(f'document.querySelector("{link}") !== null'))


def _ask(person: Person, out: Path) -> Path:
    sleep(15)  # Ask finds a new test after about ten seconds
    person.tab.open(f"{person.address}/ask")
    person.tab.fill("main .ask-form textarea", QUESTION)
    person.tab.click("main .ask-form button")
    _until(lambda: "piece-places" in person.tab.text(), "an answer")
    return _take(person.tab, out / "ask.png", 860)


def _until(condition: Callable[[], bool], what: str) -> None:
    deadline = monotonic() + LIMIT_SECONDS
    while not condition():
        assert monotonic() < deadline, f"never came: {what}"
        sleep(0.5)
