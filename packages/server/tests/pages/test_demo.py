"""A real browser watches the first test of a new installation."""

from pathlib import Path

import pytest

from tests.pages.chromium import chromium
from tests.rookery_process import run_rookery


@pytest.mark.timeout(300)
def test_numbers_move_while_the_demo_plays(tmp_path: Path) -> None:
    with run_rookery(tmp_path / "data", "up", "--concurrency=1") as server:
        with chromium(tmp_path / "profile") as tab:
            tab.open(server.address)
            tab.until("document.querySelector('main .tag')")
            tab.ask("document.querySelector('main .tag').click()")
            tab.until("location.pathname.startsWith('/runs/') && document.getElementById('games')")
            games = "Number(document.getElementById('games').textContent)"
            tab.until(f"{games} > 0")
            seen = tab.ask(games)
            tab.until(f"{games} > {seen}")
            tab.until("document.querySelectorAll('figure').length >= 2")
            assert "playing" in tab.ask("document.querySelector('.big').textContent")
            assert tab.complaints() == []
        assert server.stop() == 0
        assert server.blockages() == []
