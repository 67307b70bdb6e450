"""The frame of the pages: navigation, the person's menu, the theme, what waits for approvers."""

from dataclasses import replace

import httpx
import pytest

from rookery.core.model.actor import Actor
from rookery.core.model.engine import EngineRecord
from rookery.server.identity.users import APPROVERS
from tests.people import OLGA
from tests.twins.sites import (
    PASSWORD,
    SETTINGS,
    MemorySite,
    OpenSite,
    make_site,
    make_user,
    open_site,
)
from tests.wire.apis import open_api

pytestmark = pytest.mark.anyio


async def log_in(site: OpenSite, name: str) -> httpx.AsyncClient:
    browser = site.visitor()
    form = (await browser.get("/login")).text
    token = form.split('name="csrf_token" value="')[1].split('"')[0]
    answer = await browser.post(
        "/login", data={"username": name, "password": PASSWORD, "csrf_token": token}
    )
    assert answer.status_code == 302
    return browser


async def make_approver(site: MemorySite, name: str) -> None:
    user = await make_user(site, name)
    await site.users.save(replace(user, groups=frozenset({APPROVERS})))


async def test_an_approver_sees_how_many_runs_and_accounts_wait() -> None:
    async with open_site() as site:
        await make_approver(site.parts, "boris")
        browser = await log_in(site, "boris")
        assert 'class="badge"' not in (await browser.get("/")).text
        await site.parts.users.add(
            replace(await make_user(site.parts, "nina"), name="new", pending=True)
        )
        site.parts.approvals.forget()
        page = (await browser.get("/")).text
        assert '<span class="badge">1</span>' in page
        assert "waiting for approval" in page


async def test_others_are_not_told_what_waits() -> None:
    async with open_site() as site:
        user = await make_user(site.parts, "ada")
        await site.parts.users.add(replace(user, name="new", pending=True))
        browser = await log_in(site, "ada")
        assert 'class="badge"' not in (await browser.get("/")).text


async def test_a_run_of_a_private_engine_is_not_counted_for_an_approver_outside_its_team() -> None:
    async with open_api() as api:
        lead = Actor("olga")
        await api.site.teams.create("owls", lead)
        await api.site.engines.put(EngineRecord(name="owls~Strix", team="owls", private=True), lead)
        await api.submitted(OLGA, new_engine="owls~Strix", base_engine="owls~Strix")
        await api.submitted(OLGA)
        assert (await api.site.approvals.count_for("boris")).runs == 1
        await api.site.teams.add_member("owls", "boris", lead)
        assert (await api.site.approvals.count_for("boris")).runs == 2


async def test_runs_of_an_approver_wait_for_others_alone() -> None:
    async with open_api() as api:
        await api.submitted(OLGA)
        assert (await api.site.approvals.count_for("olga")).runs == 0
        assert (await api.site.approvals.count_for("boris")).runs == 1


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_a_chosen_theme_is_in_the_first_byte_of_the_next_page(theme: str) -> None:
    async with open_site() as site:
        home = "http://localhost/login?next=/x"
        answer = await site.browser.get(f"/theme?theme={theme}", headers={"referer": home})
        assert answer.headers["location"] == "/login?next=/x"
        assert f'data-theme="{theme}"' in (await site.browser.get("/")).text
        await site.browser.get("/theme?theme=")
        assert "data-theme" not in (await site.browser.get("/")).text


@pytest.mark.parametrize("place", ["https://evil.example/", "http://localhost//evil.example", "x"])
async def test_the_theme_leads_to_no_other_site(place: str) -> None:
    async with open_site() as site:
        answer = await site.browser.get("/theme?theme=dark", headers={"referer": place})
        assert answer.headers["location"] == "/"


async def test_a_theme_that_does_not_exist_is_none() -> None:
    async with open_site() as site:
        cookie = {"cookie": 'rookery_theme="><script>'}
        assert "data-theme" not in (await site.browser.get("/", headers=cookie)).text


async def test_robots_are_kept_from_what_changes_and_from_closed_sites() -> None:
    async with open_site() as site:
        assert "Disallow: /api/" in (await site.browser.get("/robots.txt")).text
    async with open_site(make_site(replace(SETTINGS, login_to_view=True))) as site:
        assert (await site.browser.get("/robots.txt")).text == "User-agent: *\nDisallow: /\n"


async def test_the_icon_is_where_browsers_look_for_it() -> None:
    async with open_site() as site:
        answer = await site.browser.get("/favicon.ico")
        assert answer.headers["content-type"] == "image/svg+xml"


async def test_strangers_are_led_to_no_metrics() -> None:
    async with open_site() as site:
        assert "/metrics" not in (await site.browser.get("/login")).text
