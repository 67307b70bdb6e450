"""The frame's pages in a real browser."""

import pytest

from tests.pages.browser import Browser
from tests.wire.processes import Server


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/", "Is the patch stronger?"),
        ("/login", "Stay logged in"),
        ("/signup", "four random words"),
    ],
)
def test_a_page_loads_without_a_complaint(
    server: Server, browser: Browser, path: str, words: str
) -> None:
    visit = browser.visit(server.address + path)
    assert words in visit.document
    assert visit.complaints == []


def test_a_script_that_found_its_way_into_a_page_does_not_run(
    server: Server, browser: Browser
) -> None:
    visit = browser.visit(server.address + "/slow/inline")
    assert "it ran" not in visit.document
    assert any("Content Security Policy" in line for line in visit.complaints)
