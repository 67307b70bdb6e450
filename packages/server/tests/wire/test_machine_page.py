"""Adding a machine by a page."""

import re

import pytest

from rookery.server.identity.users import Scope
from tests.twins.sites import open_site
from tests.wire.test_login import signed_in, token_in

pytestmark = pytest.mark.anyio

HERE = "/machines/add"


async def test_a_stranger_is_asked_to_log_in() -> None:
    async with open_site() as site:
        answer = await site.browser.get(HERE)
        assert answer.headers["location"] == f"/login?next={HERE}"


async def test_a_token_is_made_by_a_button_and_shown_once() -> None:
    async with open_site() as site:
        await signed_in(site)
        page = await site.browser.get(HERE)
        assert "rkw_" not in page.text
        made = await site.browser.post(HERE, data={"csrf_token": token_in(page)})
        shown = await site.browser.get(made.headers["location"])
        assert shown.headers["cache-control"] == "no-store"
        assert site.parts.wheel.fingerprint in shown.text
        secret = re.search(r"ada:(rkw_[a-z0-9]+)", shown.text)
        assert secret is not None
        (token,) = await site.parts.accounts.list_tokens("ada")
        assert await site.parts.bearers.find_worker_token(secret[1]) == token
        assert token.scopes == {Scope.WORKER}
        again = await site.browser.get(made.headers["location"], follow_redirects=True)
        assert "rkw_" not in again.text
        assert len(await site.parts.accounts.list_tokens("ada")) == 1


async def test_another_site_makes_no_token() -> None:
    async with open_site() as site:
        await signed_in(site)
        assert (await site.browser.post(HERE)).status_code == 403
        assert await site.parts.accounts.list_tokens("ada") == ()
