"""What a person gets across two requests does not live in one process: each instance goes on where
another one was left."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest

from rookery.server.identity.links import LinkPurpose
from tests.fakes import HandClock
from tests.twins.people import MemoryTokens, MemoryUsers
from tests.twins.sites import MemorySite, OpenSite, make_site, make_user, open_site
from tests.wire.test_login import log_in, token_in

pytestmark = pytest.mark.anyio


@pytest.fixture
async def sites() -> AsyncIterator[tuple[OpenSite, OpenSite]]:
    async with two_instances() as opened:
        yield opened


@asynccontextmanager
async def two_instances() -> AsyncIterator[tuple[OpenSite, OpenSite]]:
    users, clock = MemoryUsers(), HandClock()
    tokens = MemoryTokens(users)

    def make() -> MemorySite:
        return make_site(users=users, clock=clock, tokens=tokens)

    async with open_site(make()) as first, open_site(make()) as second:
        await make_user(first.parts)
        yield first, second


def move(browser: httpx.AsyncClient, to: OpenSite) -> httpx.AsyncClient:
    """The same browser, whose next requests another instance answers."""
    to.browser.cookies = browser.cookies
    return to.browser


async def test_who_logs_in_at_one_is_logged_in_at_the_other(
    sites: tuple[OpenSite, OpenSite],
) -> None:
    first, second = sites
    await log_in(first.browser)
    assert (await move(first.browser, second).get("/profile")).status_code == 200


async def test_the_secret_of_a_new_token_is_shown_once_by_whichever_answers(
    sites: tuple[OpenSite, OpenSite],
) -> None:
    first, second = sites
    await log_in(first.browser)
    form = {"csrf_token": token_in(await first.browser.get("/tokens")), "scope": "submit"}
    made = await first.browser.post("/tokens", data={**form, "days": "90"})
    place = made.headers["location"]
    assert "made=" in place
    browser = move(first.browser, second)
    assert "rk_" in (await browser.get(place)).text
    assert "rk_" not in (await move(browser, first).get(place)).text


async def test_a_worker_token_is_shown_by_the_other(sites: tuple[OpenSite, OpenSite]) -> None:
    first, second = sites
    await log_in(first.browser)
    form = {"csrf_token": token_in(await first.browser.get("/machines/add"))}
    made = await first.browser.post("/machines/add", data=form)
    browser = move(first.browser, second)
    assert "rkw_" in (await browser.get(made.headers["location"])).text


async def test_a_mailed_link_is_good_at_the_other(
    sites: tuple[OpenSite, OpenSite],
) -> None:
    first, second = sites
    user = await first.parts.users.by_name("ada")
    assert user is not None
    link = first.parts.links.make(LinkPurpose.CONFIRM, user)
    page = await second.browser.get(f"/confirm?token={link}")
    assert page.status_code == 200
    assert "not valid any more" not in page.text
