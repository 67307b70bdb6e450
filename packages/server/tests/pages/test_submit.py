"""The form of a new test in a real browser: presets, a live preview, errors, a submission."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pages.chromium import Tab, chromium
from tests.twins.sites import PASSWORD
from tests.wire.processes import Server, running_server

TYPED = {
    "new_tag": "my-idea",
    "resolved_new": "a" * 40,
    "resolved_base": "b" * 40,
    "new_signature": "1234567",
    "base_signature": "2345678",
}


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("scene"), module="tests.pages.scene") as started:
        yield started


def put(tab: Tab, name: str, text: str) -> None:
    """As if it had been typed and left."""
    tab.ask(
        f"(() => {{ const e = document.getElementById('{name}'); e.value = '{text}';"
        " for (const kind of ['input', 'change'])"
        " e.dispatchEvent(new Event(kind, {bubbles: true})); })()"
    )


def open_form(tab: Tab, scene: Server) -> None:
    tab.size(1280, 900)
    tab.open(f"{scene.address}/login?next=/tests/new")
    tab.ask(
        "document.getElementById('username').value = 'boris';"
        f"document.getElementById('password').value = '{PASSWORD}';"
        "document.querySelector('form.stack').submit()"
    )
    tab.until("location.pathname === '/tests/new' && document.readyState === 'complete'")


def test_what_was_refused_stays_beside_its_field_until_it_is_right(
    scene: Server, tmp_path: Path
) -> None:
    with chromium(tmp_path) as tab:
        open_form(tab, scene)
        for name, text in {**TYPED, "sprt.elo0": "9", "tc": "soon"}.items():
            put(tab, name, text)
        # The button moves for as long as previews above it come in.
        tab.until("document.querySelector('[data-error=tc]').textContent !== ''")
        tab.submit("button[value=submit]")
        tab.ask("document.getElementById('preview').append(document.createElement('hr'))")
        put(tab, "tc", "10+0.1")
        tab.until("!document.querySelector('#preview hr')")
        tab.until("document.querySelector('[data-error=tc]').textContent === ''")
        assert "elo1 must exceed elo0" in tab.text("[data-error='sprt.elo1']")


def test_a_test_is_submitted_from_a_preset_with_its_preview_live(
    scene: Server, tmp_path: Path
) -> None:
    with chromium(tmp_path) as tab:
        open_form(tab, scene)
        tab.click(".preset[value='LTC']")
        tab.until("document.getElementById('tc').value === '60+0.6'")
        put(tab, "new_tag", "no-such-branch")
        tab.until("document.querySelector('[data-error=new_tag]').textContent !== ''")
        tab.ask("document.getElementById('preview').append(document.createElement('hr'))")
        put(tab, "info", "what it is about")
        tab.until("!document.querySelector('#preview hr')")
        assert tab.text("[data-error=new_tag]") != "", "it was only looked up before"
        for name, text in TYPED.items():
            put(tab, name, text)
        tab.until("document.querySelector('[data-error=new_tag]').textContent === ''")
        tab.until("document.querySelector('.say')?.textContent.includes('60 s + 0.6 s')")
        put(tab, "tc", "soon")
        tab.until("document.querySelector('[data-error=tc]').textContent !== ''")
        assert tab.ask("document.getElementById('tc').getAttribute('aria-invalid')") == "true"
        tab.size(390, 844, dark=True)
        assert tab.ask("document.documentElement.scrollWidth") <= 390
        put(tab, "tc", "20+0.2")
        tab.until("document.querySelector('[data-error=tc]').textContent === ''")
        tab.click("button[value=submit]")
        tab.until("location.pathname.startsWith('/runs/') && document.readyState === 'complete'")
        assert tab.ask("document.body.textContent.includes('The test is submitted.')")
        assert tab.complaints() == []
