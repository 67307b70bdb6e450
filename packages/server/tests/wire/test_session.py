"""What one request may wish about its session cookie, and how the cookie stays small."""

from dataclasses import replace

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from rookery.server.boundary.domains import Domain, runs
from rookery.server.http.scope import session_of
from rookery.server.http.session import MOST_BYTES
from tests.twins.sites import SETTINGS, make_site, open_site

pytestmark = pytest.mark.anyio


@runs(Domain.LOOP, "for the test")
async def wish(request: Request) -> Response:
    session = session_of(request.scope)
    session.flash("hello")
    session.max_age, session.secure = 60, True
    return PlainTextResponse("wished")


@runs(Domain.LOOP, "for the test")
async def clear(request: Request) -> Response:
    session_of(request.scope).drop()
    return PlainTextResponse("cleared")


@runs(Domain.LOOP, "for the test")
async def talk(request: Request) -> Response:
    for number in range(5):
        session_of(request.scope).flash(f"{number}" * 1000)
    return PlainTextResponse("talked")


@runs(Domain.LOOP, "for the test")
async def overflow(request: Request) -> Response:
    session_of(request.scope).sign_in("x" * 5000, "mark", keep=False)
    return PlainTextResponse("too much")


ROUTES = [
    Route(f"/{endpoint.__name__}", endpoint, methods=["GET"])
    for endpoint in (wish, clear, talk, overflow)
]


async def test_a_request_may_set_the_cookies_age_and_ask_for_https() -> None:
    async with open_site(None, *ROUTES) as site:
        cookie = (await site.browser.get("/wish")).headers["set-cookie"]
        assert cookie.endswith("; Max-Age=60; Secure")


async def test_a_request_may_have_the_cookie_removed() -> None:
    async with open_site(None, *ROUTES) as site:
        cookie = (await site.browser.get("/clear")).headers["set-cookie"]
        assert cookie.startswith("rookery_session=; ")
        assert "Max-Age=0" in cookie


async def test_a_site_with_an_https_address_has_secure_cookies() -> None:
    parts = make_site(replace(SETTINGS, base_url="https://tests.example.org"))
    async with open_site(parts) as site:
        assert (await site.browser.get("/login")).headers["set-cookie"].endswith("; Secure")


async def test_too_many_messages_lose_the_oldest_and_the_cookie_fits() -> None:
    async with open_site(None, *ROUTES) as site:
        cookie = (await site.browser.get("/talk")).headers["set-cookie"]
        assert len(cookie.split(";")[0]) <= MOST_BYTES
        page = (await site.browser.get("/")).text
        assert "4" * 1000 in page
        assert "0" * 1000 not in page


async def test_a_session_that_never_fits_is_dropped_and_logged() -> None:
    async with open_site(None, *ROUTES) as site:
        answer = await site.browser.get("/overflow")
        assert answer.status_code == 200
        assert "Max-Age=0" in answer.headers["set-cookie"]
        assert "session_too_large" in site.log.events()
