"""Pages open in a browser move on over a change of the primary, and are not loaded anew."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from rookery.server.db.target import Target
from tests.acceptance.proxies import proxied
from tests.commands import run_command
from tests.faults.playing_by_hand import PlayedTask, make_token, submit_run
from tests.pages.chromium import Tab, open_chromium
from tests.rookery_process import SIMULATED, RookeryProcess
from tests.takeovers.test_instances import TAKEOVER_SECONDS, two_servers

GAMES = "Number(document.getElementById('games').textContent.replaceAll(',', ''))"
LOST = "document.getElementById('connection')"
SETTINGS = SIMULATED | {"ROOKERY_TRUSTED_PROXIES": "127.0.0.1"}


@dataclass(slots=True)
class OpenPages:
    """The page of a run and the list of runs, open at one of two servers."""

    first: RookeryProcess
    second: RookeryProcess
    played: PlayedTask
    run: Tab
    home: Tab

    def open_at(self, run_address: str, home_address: str) -> None:
        self.run.open(f"{run_address}/runs/{self.played.run}")
        self.home.open(home_address)
        for tab in (self.run, self.home):
            tab.ask("window.loadedOnce = true")

    def move_on(self, server: RookeryProcess) -> float:
        """Games are reported, and both pages show them; gives how long the report took."""
        row = f"document.getElementById('run-{self.played.run}')?.textContent"
        self.home.until(f"{row} !== undefined")
        before = self.home.ask(row)
        taken = self.played.report(server.address, pairs=10)
        self.run.until(f"{GAMES} === {self.played.games}")
        self.home.until(f"{row} !== {before!r}")
        return taken

    def assert_calm(self) -> None:
        """The same documents as at first, whose notice of a lost connection does not stand."""
        for tab in (self.run, self.home):
            assert tab.ask("window.loadedOnce")
            assert tab.ask(f"{LOST}.hidden")


@pytest.fixture
def pages(database: Target, tmp_path: Path) -> Iterator[OpenPages]:
    """Of a run that plays; the first server is primary."""
    token = make_token(tmp_path / "command", database)
    with (
        two_servers(database, tmp_path, SETTINGS) as (first, second),
        httpx.Client(timeout=10.0) as calls,
        open_chromium(tmp_path / "profile") as browser,
    ):
        played = PlayedTask(submit_run(first.address, token), calls)
        played.begin(first.address)
        played.report(first.address)
        yield OpenPages(first, second, played, browser.new_person(), browser.new_person())


def test_pages_move_on_when_the_primary_is_killed(pages: OpenPages, tmp_path: Path) -> None:
    """One at a server that takes over, one behind a proxy that has to find another."""
    places = [each.address.removeprefix("http://") for each in (pages.first, pages.second)]
    with proxied("caddy", tmp_path / "proxy", places) as proxy:
        pages.home.call("Security.setIgnoreCertificateErrors", ignore=True)
        pages.open_at(pages.second.address, proxy.address)
        pages.move_on(pages.second)
        pages.first.kill()
        taken = pages.move_on(pages.second)
        assert taken < TAKEOVER_SECONDS
        pages.move_on(pages.second)
        pages.assert_calm()
        assert pages.run.complaints() == []
    print(f"a report was taken {taken:.1f} s after the kill")


def test_pages_at_a_primary_move_on_when_it_steps_down(
    pages: OpenPages, database: Target, tmp_path: Path
) -> None:
    pages.open_at(pages.first.address, pages.first.address)
    pages.move_on(pages.first)
    settings = {"ROOKERY_DATABASE_URL": database.dsn}
    assert run_command("step-down", data=tmp_path / "command", settings=settings).returncode == 0
    for server in (pages.second, pages.first):
        pages.move_on(server)
    pages.assert_calm()
    assert pages.played.refused == []
    assert pages.run.complaints() + pages.home.complaints() == []
