"""The page of Ask in a real browser, with its script."""

from pathlib import Path

import pytest

from tests.pages.axe import find_violations
from tests.pages.chromium import chromium
from tests.twins.sites import PASSWORD
from tests.wire.processes import running_server

READY = "!document.querySelector('.writing') && document.querySelectorAll('.turn').length"
ENTER = ("Enter", 13)


def test_a_conversation_from_the_first_question_to_its_page(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    folder = tmp_path_factory.mktemp("scene")
    with (
        running_server(folder, module="tests.pages.scene") as scene,
        chromium(tmp_path) as tab,
    ):
        tab.size(1280, 900)
        tab.open(f"{scene.address}/login?next=/ask")
        tab.fill("#username", "boris")
        tab.fill("#password", PASSWORD)
        tab.submit("form.stack button")
        tab.fill("#question", "Was a bigger razoring margin ever tried here?")
        tab.press(*ENTER)
        tab.until(f"{READY} === 1")
        assert "<b>a</b> razoring margin" in tab.text(".answer")
        assert tab.ask("document.querySelectorAll('.sources mark').length") > 0
        tab.click(".cite")
        assert tab.ask("document.querySelector('li:target a').href") == "https://example.org/a"
        tab.fill("#question", "and at ltc?")
        tab.click(".ask-form [type=submit]")
        tab.until(f"{READY} === 2")
        chat = str(tab.ask("location.pathname"))
        assert chat in str(tab.ask("document.querySelector('#chats a').href"))
        tab.size(360, 800, dark=True)
        tab.open(scene.address + chat)
        assert tab.ask("document.querySelectorAll('.turn').length") == 2
        assert tab.ask("document.documentElement.scrollWidth") == 360
        assert find_violations(tab) == []
        assert tab.complaints() == []
