"""Rookery's own docs as pages."""

from collections.abc import AsyncIterator

import pytest

from rookery.server.app.docs.page import find_address, render_doc
from rookery.server.ask.corpus import DocPage
from tests.wire.apis import Api, open_api

pytestmark = pytest.mark.anyio

PAGES = {"operate": DocPage("operate", "# Operating\n")}


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with open_api() as opened:
        yield opened


async def test_a_page_of_our_docs_can_be_read(api: Api) -> None:
    shown = await api.visitor.get("/docs/operate")
    assert '<h2 id="settings">Settings</h2>' in shown.text
    assert 'href="/docs/database' in shown.text
    assert 'aria-current="page">Operating' in shown.text
    assert (await api.visitor.get("/docs")).status_code == 200
    assert (await api.visitor.get("/docs/..%2Fpyproject")).status_code == 404


async def test_a_page_of_our_docs_is_given_as_it_was_written(api: Api) -> None:
    shown = await api.visitor.get("/docs/why.md")
    assert shown.headers["content-type"] == "text/plain; charset=utf-8"
    assert shown.text.startswith("# ")


def test_html_in_a_text_is_shown_as_text() -> None:
    text = "# A\n<script>x</script> [b](javascript:x) ![c](c.png) [d](../d.py)"
    shown = render_doc(DocPage("a", text), PAGES)[0]
    assert "&lt;script&gt;x&lt;/script&gt;" in shown
    assert "<a" not in shown
    assert "<img" not in shown


def test_an_empty_corner_of_a_table_is_no_heading() -> None:
    shown = render_doc(DocPage("a", "| | b |\n|---|---|\n| c | d |\n"), PAGES)[0]
    assert shown.count("<th>") == 1


@pytest.mark.parametrize(
    ("address", "found"),
    [
        ("operate.md", "/docs/operate"),
        ("operate.md#backup", "/docs/operate#backup"),
        ("#backup", "#backup"),
        ("https://example.org/a.md", "https://example.org/a.md"),
        ("../CHANGELOG.md", ""),
        ("operate", ""),
    ],
)
def test_links_between_the_docs_lead_to_their_pages(address: str, found: str) -> None:
    assert find_address(address, PAGES) == found
