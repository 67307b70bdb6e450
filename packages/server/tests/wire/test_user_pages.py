"""Users and contributors by pages: who sees what, and what approvers do to accounts."""

import re
from collections.abc import AsyncIterator
from dataclasses import replace

import httpx
import pytest

from rookery.server.farm.statistics_rows import Contributor, Period
from rookery.server.identity.users import User, is_approver
from tests.people import BORIS, OLGA, SVEN
from tests.twins.sites import PASSWORD
from tests.wire.apis import Api, open_api
from tests.wire.secrets.plants import with_password
from tests.wire.test_login import log_in, token_in

pytestmark = pytest.mark.anyio

PETRA = replace(OLGA, name="petra", email="petra@wait.example.org", pending=True)


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with open_api() as opened:
        await opened.site.users.add(PETRA)
        for user in (BORIS, SVEN):
            await with_password(opened, user)
        yield opened


async def browser_of(api: Api, user: User) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(api.app, client=("192.0.2.9", 1))
    browser = httpx.AsyncClient(transport=transport, base_url="http://localhost")
    assert (await log_in(browser, username=user.name)).status_code == 302
    return browser


async def send(browser: httpx.AsyncClient, path: str, **fields: str) -> httpx.Response:
    token = token_in(await browser.get("/profile"))
    return await browser.post(path, data={"csrf_token": token, **fields})


async def find_user(api: Api, name: str) -> User:
    user = await api.site.users.by_name(name)
    assert user is not None
    return user


async def test_approvers_find_accounts_by_state_and_text(api: Api) -> None:
    boris = await browser_of(api, BORIS)
    waiting = (await boris.get("/users?state=pending")).text
    assert "petra" in waiting
    assert "sven" not in waiting
    found = (await boris.get("/users?text=WAIT.example")).text
    assert "petra@wait.example.org" in found
    assert "olga@" not in found


async def test_others_see_no_list_no_address_and_nobody_who_waits(api: Api) -> None:
    sven = await browser_of(api, SVEN)
    assert (await sven.get("/users")).status_code == 403
    assert (await sven.get("/users/petra")).status_code == 404
    shown = await sven.get("/users/olga")
    assert shown.status_code == 200
    assert "olga@" not in shown.text
    assert "/limits" not in shown.text


async def test_an_account_is_accepted_or_rejected_by_a_button(api: Api) -> None:
    boris = await browser_of(api, BORIS)
    await send(boris, "/users/petra/accept")
    assert not (await find_user(api, "petra")).pending
    await api.site.users.add(replace(PETRA, name="paul"))
    answer = await send(boris, "/users/paul/reject")
    assert answer.headers["location"] == "/users"
    assert await api.site.users.by_name("paul") is None


async def test_a_blocked_user_is_told_why_when_logged_out_and_at_the_login(api: Api) -> None:
    boris, sven = await browser_of(api, BORIS), await browser_of(api, SVEN)
    await send(boris, "/users/sven/block", message="too many <b>machines</b>")
    led = await sven.get("/profile")
    assert led.status_code == 303
    told = "This account is blocked: too many &lt;b&gt;machines&lt;/b&gt;."
    assert told in (await sven.get(led.headers["location"])).text
    assert told in (await log_in(sven, username="sven", password=PASSWORD)).text
    await send(boris, "/users/sven/unblock")
    assert (await find_user(api, "sven")).block_reason == ""


async def test_limits_and_rights_are_changed_by_a_form(api: Api) -> None:
    boris = await browser_of(api, BORIS)
    fields = {"machine_limit": "5", "upload_mb": "300", "approver": "1"}
    await send(boris, "/users/sven/limits", **fields)
    sven = await find_user(api, "sven")
    assert (sven.machine_limit, sven.upload_mb, is_approver(sven)) == (5, 300, True)
    await send(boris, "/users/sven/limits", machine_limit="6", upload_mb="")
    sven = await find_user(api, "sven")
    assert (sven.machine_limit, sven.upload_mb, is_approver(sven)) == (6, None, False)
    refused = await send(boris, "/users/sven/limits", machine_limit="many", upload_mb="7")
    assert refused.status_code == 400
    assert 'id="machine_limit-error">A whole number' in refused.text
    assert 'value="many"' in refused.text
    assert 'value="7"' in refused.text


async def make_link(browser: httpx.AsyncClient, name: str) -> str:
    """The address that the page of a user shows after the button, without the server's own."""
    led = await send(browser, f"/users/{name}/reset")
    page = (await browser.get(led.headers["location"])).text
    found = re.search(r"<code>http://localhost(/login/new-password\?token=[^<]+)</code>", page)
    assert found, page
    return found[1]


async def test_an_approver_gives_somebody_a_link_to_a_new_password(api: Api) -> None:
    boris = await browser_of(api, BORIS)
    place = await make_link(boris, "sven")
    page = await api.visitor.get(place)
    fields = {"password": "four quite random words", "password2": "four quite random words"}
    fields |= {"token": place.partition("token=")[2], "csrf_token": token_in(page)}
    assert (await api.visitor.post("/login/new-password", data=fields)).status_code == 302
    used = await log_in(api.visitor, username="sven", password=fields["password"])
    assert used.status_code == 302
    assert (await api.visitor.get(place)).status_code == 404


async def test_the_link_is_shown_once_and_not_told_in_the_log(api: Api) -> None:
    boris = await browser_of(api, BORIS)
    place = await make_link(boris, "sven")
    assert "new-password" not in (await boris.get("/users/sven")).text
    log = (await boris.get("/log")).text
    assert "created a password reset link" in log
    assert place.partition("token=")[2] not in log
    assert "created a password reset link" not in (await api.visitor.get("/log")).text


@pytest.mark.parametrize(
    "user", [replace(OLGA, groups=BORIS.groups), replace(OLGA, blocked=True), PETRA]
)
async def test_accounts_for_which_no_link_is_made(api: Api, user: User) -> None:
    await api.site.users.save(user)
    boris = await browser_of(api, BORIS)
    page = (await boris.get(f"/users/{user.name}")).text
    assert f"/users/{user.name}/reset" not in page
    await send(boris, f"/users/{user.name}/reset")
    page = (await boris.get(f"/users/{user.name}")).text
    assert 'class="note error"' in page
    assert "new-password" not in page


async def test_only_approvers_make_such_links(api: Api) -> None:
    sven = await browser_of(api, SVEN)
    assert (await send(sven, "/users/olga/reset")).status_code == 403
    assert "reset" not in (await sven.get("/users/olga")).text


async def test_nobody_takes_away_their_own_rights(api: Api) -> None:
    boris = await browser_of(api, BORIS)
    await send(boris, "/users/boris/block", message="why not")
    assert not (await find_user(api, "boris")).blocked
    assert "ask another approver" in (await boris.get("/users/boris")).text


async def test_contributors_are_sorted_searched_and_keep_their_places(api: Api) -> None:
    api.site.statistics.contributors[Period.ALL] = [
        Contributor("olga", 1000, 50.0, 3, None),
        Contributor("sven", 5000, 20.5, 0, api.clock.now()),
    ]
    page = (await api.visitor.get("/contributors")).text
    assert page.index(">olga<") < page.index(">sven<")
    assert "2 contributors gave 70 core hours and 6,000 games" in page
    by_games = (await api.visitor.get("/contributors?sort=-games")).text
    assert by_games.index(">sven<") < by_games.index(">olga<")
    found = (await api.visitor.get("/contributors?text=SVE")).text
    assert ">olga<" not in found
    assert 'data-name="Place">2<' in found
