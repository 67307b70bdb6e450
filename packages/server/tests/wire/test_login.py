"""Logging in and out through the browser's eyes."""

import re
from dataclasses import replace
from typing import Any

import httpx
import pytest

from tests.fakes import HandClock
from tests.twins.sites import PASSWORD, SETTINGS, OpenSite, make_site, make_user, open_site

pytestmark = pytest.mark.anyio


def token_in(page: httpx.Response) -> str:
    found = re.search(r'name="csrf_token" value="([0-9a-f]+)"', page.text)
    assert found is not None
    return found[1]


async def log_in(browser: httpx.AsyncClient, **fields: str) -> httpx.Response:
    form = {"username": "ada", "password": PASSWORD, **fields}
    token = token_in(await browser.get("/login"))
    return await browser.post("/login", data={"csrf_token": token, **form})


async def signed_in(site: OpenSite) -> None:
    await make_user(site.parts)
    assert (await log_in(site.browser)).status_code == 302


async def test_the_right_password_leads_home_and_greets() -> None:
    async with open_site() as site:
        await signed_in(site)
        home = await site.browser.get("/")
        assert "Welcome, ada." in home.text
        assert "Log out" in home.text


async def test_a_message_is_shown_once() -> None:
    async with open_site() as site:
        await signed_in(site)
        await site.browser.get("/")
        assert "Welcome" not in (await site.browser.get("/")).text


async def test_the_session_ends_with_the_browser_unless_it_is_kept() -> None:
    async with open_site() as site:
        await make_user(site.parts)
        short = await log_in(site.browser)
        kept = await log_in(site.visitor(), stay_logged_in="1")
        assert "Max-Age" not in short.headers["set-cookie"]
        assert "Max-Age=34560000" in kept.headers["set-cookie"]


@pytest.mark.parametrize("name", ["ada", "nobody"])
async def test_wrong_credentials_read_the_same(name: str) -> None:
    async with open_site() as site:
        await make_user(site.parts)
        answer = await log_in(site.browser, username=name, password="wrong")
        assert answer.status_code == 401
        assert "Unknown user name or wrong password." in answer.text
        assert f'value="{name}"' in answer.text
        assert "wrong" not in str(site.log.lines)


async def test_a_blocked_user_is_told_after_the_right_password() -> None:
    async with open_site() as site:
        ada = await make_user(site.parts)
        await site.parts.users.save(replace(ada, blocked=True))
        answer = await log_in(site.browser)
        assert answer.status_code == 401
        assert "This account is blocked." in answer.text


async def test_guessing_is_throttled() -> None:
    async with open_site() as site:
        await make_user(site.parts)
        answers = [await log_in(site.browser, password="wrong") for _ in range(7)]
        assert [answer.status_code for answer in answers] == [401] * 6 + [429]


@pytest.mark.parametrize(
    ("wish", "place"),
    [("/runs?x=1", "/runs?x=1"), ("//evil.example", "/"), ("https://evil.example", "/"), ("", "/")],
)
async def test_the_next_page_lies_on_this_site(wish: str, place: str) -> None:
    async with open_site() as site:
        await make_user(site.parts)
        assert (await log_in(site.browser, next=wish)).headers["location"] == place


async def test_a_form_without_the_token_is_refused() -> None:
    async with open_site() as site:
        await make_user(site.parts)
        await site.browser.get("/login")
        form = {"username": "ada", "password": PASSWORD}
        answer = await site.browser.post("/login", data=form)
        assert answer.status_code == 403
        assert site.log.fields("request_refused")["why"] == "CsrfRefused"


async def test_anothers_token_is_refused() -> None:
    async with open_site() as site:
        foreign = token_in(await site.visitor().get("/login"))
        await site.browser.get("/login")
        answer = await site.browser.post("/login", data={"csrf_token": foreign})
        assert answer.status_code == 403


async def test_a_script_may_send_the_token_in_a_header() -> None:
    async with open_site() as site:
        await signed_in(site)
        token = token_in(await site.browser.get("/"))
        answer = await site.browser.post("/logout", headers={"x-csrf-token": token})
        assert answer.status_code == 302


async def test_the_token_from_before_the_login_is_worth_nothing_after_it() -> None:
    async with open_site() as site:
        await make_user(site.parts)
        before = token_in(await site.browser.get("/login"))
        await log_in(site.browser)
        assert token_in(await site.browser.get("/")) != before


async def test_logging_out_ends_the_session() -> None:
    async with open_site() as site:
        await signed_in(site)
        token = token_in(await site.browser.get("/"))
        await site.browser.post("/logout", data={"csrf_token": token})
        home = await site.browser.get("/")
        assert "You are logged out." in home.text
        assert "Log out" not in home.text


async def test_a_stolen_cookie_is_worth_nothing_after_the_logout() -> None:
    async with open_site() as site:
        await signed_in(site)
        stolen = site.browser.cookies["rookery_session"]
        token = token_in(await site.browser.get("/"))
        await site.browser.post("/logout", data={"csrf_token": token})
        async with site.visitor() as thief:
            thief.cookies.set("rookery_session", stolen)
            assert (await thief.get("/")).status_code == 303
            assert "Log out" not in (await thief.get("/")).text


async def test_logging_out_leaves_other_sessions_as_they_are() -> None:
    async with open_site() as site:
        await signed_in(site)
        async with site.visitor() as elsewhere:
            await log_in(elsewhere)
            token = token_in(await site.browser.get("/"))
            await site.browser.post("/logout", data={"csrf_token": token})
            assert "Log out" in (await elsewhere.get("/")).text


async def change_ada(site: OpenSite, clock: HandClock, **changes: Any) -> None:
    """And waits until nobody remembers what she was."""
    ada = await site.parts.users.by_name("ada")
    assert ada is not None
    await site.parts.users.save(replace(ada, **changes))
    clock.move(seconds=3)


async def test_a_blocked_users_session_ends_within_two_seconds() -> None:
    clock = HandClock()
    async with open_site(make_site(clock=clock)) as site:
        await signed_in(site)
        await change_ada(site, clock, blocked=True)
        answer = await site.browser.get("/login")
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        assert "Log in" in (await site.browser.get("/")).text
        assert site.log.fields("session_ended")["user"] == "ada"


async def test_a_new_password_ends_every_other_session() -> None:
    clock = HandClock()
    async with open_site(make_site(clock=clock)) as site:
        await signed_in(site)
        await change_ada(site, clock, password_hash="another")
        assert (await site.browser.get("/")).status_code == 303


async def test_who_is_logged_in_needs_no_login_page() -> None:
    async with open_site() as site:
        await signed_in(site)
        answer = await site.browser.get("/login?next=/runs")
        assert answer.headers["location"] == "/runs"


async def test_an_error_page_still_knows_who_looks() -> None:
    async with open_site() as site:
        await signed_in(site)
        page = await site.browser.get("/nowhere")
        assert page.status_code == 404
        assert "Log out" in page.text


async def test_the_cookie_is_secure_behind_a_trusted_https_proxy() -> None:
    parts = make_site(replace(SETTINGS, trusted_proxies=("192.0.2.0/24",)))
    async with open_site(parts) as site:
        answer = await site.browser.get("/login", headers={"x-forwarded-proto": "https"})
        assert answer.headers["set-cookie"].endswith("; Secure")


async def test_a_markup_in_a_name_is_only_text() -> None:
    async with open_site() as site:
        answer = await log_in(site.browser, username='"><script>alert(1)</script>')
        assert "<script>" not in answer.text
