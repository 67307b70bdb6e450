"""A form that is sent after its session has ended: nothing is done, and nothing typed is lost."""

import html
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest

from tests.people import SVEN
from tests.twins.sites import PASSWORD
from tests.wire.apis import Api, open_api
from tests.wire.secrets.plants import with_password
from tests.wire.test_login import log_in, token_in
from tests.wire.test_user_pages import browser_of

pytestmark = pytest.mark.anyio

HERE = {"sec-fetch-site": "same-origin"}
HOSTILE = '"><script>alert(1)</script>'


@asynccontextmanager
async def sven_with_old_token() -> AsyncIterator[tuple[Api, httpx.AsyncClient, str]]:
    """Sven, whose open forms carry the token of a session that has ended; nobody is logged in."""
    async with open_api() as api:
        await with_password(api, SVEN)
        sven = await browser_of(api, SVEN)
        token = token_in(await sven.get("/teams"))
        await sven.post("/logout", data={"csrf_token": token})
        yield api, sven, token


def read_kept(page: httpx.Response) -> dict[str, str]:
    found = re.findall(r'<textarea name="([^"]+)" hidden>\n(.*?)</textarea>', page.text, re.DOTALL)
    return {name: html.unescape(text) for name, text in found}


async def test_a_form_of_an_earlier_session_is_shown_and_can_be_sent_again() -> None:
    async with sven_with_old_token() as (api, sven, token):
        await log_in(sven, username=SVEN.name)
        page = await sven.post("/teams", data={"csrf_token": token, "name": "owls"}, headers=HERE)
        assert page.status_code == 403
        assert "<dt>Name</dt><dd><pre>owls</pre></dd>" in page.text
        assert "Send again" in page.text
        assert 'action="/teams"' in page.text
        assert not api.site.teams.of(SVEN.name)
        again = {"csrf_token": token_in(page), **read_kept(page)}
        made = await sven.post("/teams", data=again, headers=HERE)
        assert made.headers["location"] == "/teams/owls"


async def test_who_is_logged_out_is_told_to_log_in_beside_it() -> None:
    async with sven_with_old_token() as (_, sven, token):
        page = await sven.post("/teams", data={"csrf_token": token, "name": "owls"}, headers=HERE)
        assert page.status_code == 403
        assert '<a href="/login" target="_blank"' in page.text
        assert read_kept(page) == {"name": "owls"}
        assert token not in page.text


async def test_what_was_typed_is_shown_as_text() -> None:
    async with sven_with_old_token() as (_, sven, token):
        typed = {"csrf_token": token, "name": HOSTILE}
        page = await sven.post("/teams", data=typed, headers=HERE)
        assert "&lt;script&gt;alert(1)" in page.text
        assert "<script>alert" not in page.text


async def test_a_password_is_neither_shown_nor_sent_again() -> None:
    async with sven_with_old_token() as (_, sven, token):
        typed = {"email": "sven@example.org", "present_email_password": PASSWORD}
        page = await sven.post("/profile/email", data={"csrf_token": token, **typed}, headers=HERE)
        assert "<dt>Email</dt><dd><pre>sven@example.org</pre></dd>" in page.text
        assert PASSWORD not in page.text
        assert read_kept(page) == {}


@pytest.mark.parametrize(
    "headers", [{}, {"sec-fetch-site": "cross-site"}, {"origin": "https://evil.example"}]
)
async def test_a_form_that_may_come_from_elsewhere_is_not_shown(headers: dict[str, str]) -> None:
    async with sven_with_old_token() as (_, sven, token):
        await log_in(sven, username=SVEN.name)
        typed = {"csrf_token": token, "name": "owls"}
        page = await sven.post("/teams", data=typed, headers=headers)
        assert page.status_code == 403
        assert "The form has expired or came from another site." in page.text
        assert "owls" not in page.text
