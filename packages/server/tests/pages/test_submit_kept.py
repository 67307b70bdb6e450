"""What is typed into a form outlives a session, in a real browser."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pages.chromium import Tab, chromium
from tests.pages.people import DESK, PHONE, Person
from tests.twins.sites import PASSWORD
from tests.wire.processes import Server, running_server

KEPT = "sessionStorage.getItem('rookery.new-test')"
TYPED = {
    "new_tag": "my-idea",
    "resolved_new": "a" * 40,
    "resolved_base": "b" * 40,
    "new_signature": "1234567",
    "base_signature": "2345678",
    "info": "two\nlines",
}
LOG_OUT = """
(async () => {
    const csrf_token = document.querySelector('meta[name=csrf-token]').content;
    const body = new URLSearchParams({ csrf_token });
    return (await fetch('/logout', { method: 'POST', body })).ok;
})()
"""
LOG_IN = f"""
(async () => {{
    const page = await (await fetch('/login')).text();
    const csrf_token = /name="csrf_token" value="([^"]+)"/.exec(page)[1];
    const body = new URLSearchParams({{ csrf_token, username: 'boris', password: '{PASSWORD}' }});
    return (await fetch('/login', {{ method: 'POST', body }})).ok;
}})()
"""


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("scene"), module="tests.pages.scene") as started:
        yield started


@pytest.fixture
def tab(tmp_path: Path, scene: Server) -> Iterator[Tab]:
    """With the form filled in, by somebody who has logged out in another tab."""
    with chromium(tmp_path) as opened:
        opened.size(*DESK)
        opened.open(f"{scene.address}/login?next=/tests/new")
        log_in(opened)
        opened.click(".preset[value='LTC']")
        for name, text in TYPED.items():
            opened.fill(f"#{name}", text)
        assert opened.ask(LOG_OUT)
        yield opened


def log_in(tab: Tab) -> None:
    tab.fill("#username", "boris")
    tab.fill("#password", PASSWORD)
    tab.submit("form.stack button")


def assert_typed(tab: Tab) -> None:
    for name, text in TYPED.items():
        assert tab.ask(f"document.getElementById('{name}').value") == text
    assert tab.ask("document.getElementById('tc').value") == "60+0.6"


def test_a_form_that_was_sent_too_late_is_there_after_the_login(tab: Tab) -> None:
    tab.submit("button[value=submit]")
    assert "Your input is not lost." in tab.text()
    tab.submit("[data-back] a")
    log_in(tab)
    tab.until("document.getElementById('said') && document.readyState === 'complete'")
    assert_typed(tab)
    assert tab.ask("document.querySelector('.preset[aria-pressed=true]').value") == "LTC"
    tab.submit("button[value=submit]")
    assert "The test is submitted." in tab.text()


def test_what_was_submitted_is_not_put_back(tab: Tab, scene: Server) -> None:
    assert tab.ask(LOG_IN)
    tab.fill("#info", "anew")
    tab.until("document.querySelector('#preview .say')")
    tab.submit("button[value=submit]")
    assert "The test is submitted." in tab.text()
    tab.open(f"{scene.address}/tests/new")
    tab.until(f"{KEPT} === null")
    assert tab.ask("document.getElementById('new_tag').value") == ""


def test_another_person_in_the_same_tab_is_shown_nothing_of_it(tab: Tab) -> None:
    tab.submit("button[value=submit]")
    tab.ask(f"sessionStorage.setItem('rookery.new-test', {KEPT}.replace('boris', 'olga'))")
    tab.submit("[data-back] a")
    log_in(tab)
    tab.until(f"document.querySelector('form.submit') && {KEPT} === null")
    assert tab.ask("document.getElementById('new_tag').value") == ""


def test_what_was_typed_is_sent_again_from_the_page_that_shows_it(tab: Tab, scene: Server) -> None:
    tab.submit("button[value=submit]")
    for size in (PHONE, DESK):
        tab.size(*size)
        Person("boris", tab, scene.address).look()
    assert tab.ask(LOG_IN)
    tab.submit("[data-kept] form button")
    assert "Nothing was submitted" in tab.text("#said")
    assert_typed(tab)
    Person("boris", tab, scene.address).look()


def test_a_preview_tells_that_one_is_logged_out_until_one_is_back(tab: Tab) -> None:
    tab.fill("#info", "something else")
    tab.until("document.getElementById('preview').textContent.includes('You are logged out')")
    assert tab.text("#preview") == (
        "You are logged out: log in in another tab; your input stays here."
    )
    assert tab.ask(LOG_IN)
    tab.fill("#info", TYPED["info"])
    tab.until("document.querySelector('#preview .say')")
    assert_typed(tab)
    tab.submit("button[value=submit]")
    assert "The test is submitted." in tab.text()


def test_any_other_form_shows_what_was_typed_and_is_sent_again(tab: Tab, scene: Server) -> None:
    assert tab.ask(LOG_IN)
    tab.open(f"{scene.address}/teams")
    tab.fill("form.stack [name=name]", "owls")
    assert tab.ask(LOG_OUT)
    tab.submit("form.stack button")
    assert "You were logged out since this form was opened" in tab.text()
    for size in (PHONE, DESK):
        tab.size(*size)
        Person("boris", tab, scene.address).look()
    assert tab.ask(LOG_IN)
    tab.submit(".kept-form form button")
    assert "You have logged in again since this form was opened" in tab.text()
    tab.submit(".kept-form form button")
    assert tab.ask("location.pathname") == "/teams/owls"
