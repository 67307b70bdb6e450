"""Repositories that the server opens with its credentials, by pages: listed, granted, revoked."""

from collections.abc import AsyncIterator

import httpx
import pytest

from rookery.core.model.actor import Actor
from tests.people import BORIS, SVEN
from tests.wire.apis import Api, open_api
from tests.wire.secrets.plants import with_password
from tests.wire.test_user_pages import browser_of, send

pytestmark = pytest.mark.anyio

STRIX = "https://git.example.org/owls/strix"
BOSS = Actor("boris", approver=True)


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with open_api() as opened:
        for user in (BORIS, SVEN):
            await with_password(opened, user)
        await opened.site.teams.create("owls", BOSS)
        yield opened


@pytest.fixture
async def boris(api: Api) -> httpx.AsyncClient:
    return await browser_of(api, BORIS)


def granted(api: Api) -> list[tuple[str, str]]:
    return [(each.repository, each.team) for each in api.site.repositories.list_visible(BOSS)]


async def test_an_approver_grants_a_repository_to_a_team_and_takes_it_back(
    api: Api, boris: httpx.AsyncClient
) -> None:
    await send(boris, "/repositories", repository=f"{STRIX}.git", team="owls")
    assert granted(api) == [(STRIX, "owls")]
    page = (await boris.get("/repositories")).text
    assert f"{STRIX} is granted to owls." in page
    assert 'action="/repositories/revoke"' in page
    await send(boris, "/repositories/revoke", repository=STRIX, team="owls")
    assert granted(api) == []


async def test_what_is_no_address_stays_typed_beside_what_is_wrong_with_it(
    api: Api, boris: httpx.AsyncClient
) -> None:
    refused = await send(boris, "/repositories", repository="strix here", team="owls")
    assert refused.status_code == 400
    assert 'id="repository-error">Enter an address such as' in refused.text
    assert 'value="strix here"' in refused.text
    assert '<option value="owls" selected>' in refused.text
    assert granted(api) == []


async def test_a_team_that_is_gone_is_told_beside_its_field(boris: httpx.AsyncClient) -> None:
    refused = await send(boris, "/repositories", repository=STRIX, team="bats")
    assert 'id="team-error">This team no longer exists' in refused.text


async def test_what_was_never_granted_is_not_revoked(boris: httpx.AsyncClient) -> None:
    await send(boris, "/repositories/revoke", repository=STRIX, team="")
    assert 'class="note error"' in (await boris.get("/repositories")).text


async def test_members_see_what_their_teams_have_and_no_form(api: Api) -> None:
    sven = await browser_of(api, SVEN)
    await api.site.repositories.grant(STRIX, "owls", BOSS)
    assert STRIX not in (await sven.get("/repositories")).text
    await api.site.teams.add_member("owls", "sven", BOSS)
    page = (await sven.get("/repositories")).text
    assert STRIX in page
    assert 'action="/repositories' not in page
    assert (await send(sven, "/repositories", repository=STRIX, team="")).status_code == 403


async def test_approvers_find_the_page_in_their_menu_and_at_the_engines(
    api: Api, boris: httpx.AsyncClient
) -> None:
    link = '<a href="/repositories">'
    assert link in (await boris.get("/")).text
    assert link not in (await (await browser_of(api, SVEN)).get("/")).text
    assert 'href="/repositories"' in (await boris.get("/engines")).text
