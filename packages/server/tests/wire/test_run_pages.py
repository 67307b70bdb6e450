"""The pages of runs: who sees what, and what the buttons do."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import httpx
import pytest
from msgspec.structs import replace as with_fields

from rookery.core.model.actor import Actor
from rookery.core.model.engine import EngineRecord
from rookery.core.model.run import Run
from rookery.server.farm.fleet import Fleet
from rookery.server.identity.users import APPROVERS
from tests.makers import BOSS, make_plan, make_run, make_side, pairs, sprt, spsa
from tests.twins.sites import PASSWORD, OpenSite, make_user, open_site

pytestmark = pytest.mark.anyio

RUN = make_run("a", make_plan(owner="olga"), sprt(), approved=False)
UNKNOWN = "/runs/" + "f" * 24


@dataclass(frozen=True, slots=True)
class Visitor:
    """Somebody with a browser."""

    browser: httpx.AsyncClient
    fleet: Fleet

    async def see(self, path: str) -> str:
        answer = await self.browser.get(path)
        assert answer.status_code == 200, answer.text
        return answer.text

    async def press(self, path: str, **fields: str) -> httpx.Response:
        """A button of the page of a run, or the same without its page."""
        page = await self.see("/")
        token = re.search(r'name="csrf_token" value="([^"]+)"', page)
        given = {"csrf_token": token[1], **fields} if token else fields
        return await self.browser.post(path, data=given)

    async def run(self) -> Run:
        return await self.fleet.views.known_run(RUN.id)


@asynccontextmanager
async def visited(name: str = "", *, approver: bool = False) -> AsyncIterator[Visitor]:
    async with open_site() as site:
        await site.parts.fleet.commands.submit(replace(RUN, created=site.parts.clock.now()))
        if name:
            await _enter(site, name, approver=approver)
        yield Visitor(site.browser, site.parts.fleet)


async def _enter(site: OpenSite, name: str, *, approver: bool) -> None:
    user = await make_user(site.parts, name)
    if approver:
        await site.parts.users.save(replace(user, groups=frozenset({APPROVERS})))
    page = (await site.browser.get("/login")).text
    token = page.split('name="csrf_token" value="')[1].split('"')[0]
    form = {"username": name, "password": PASSWORD, "csrf_token": token}
    assert (await site.browser.post("/login", data=form)).status_code == 302


async def test_everybody_sees_the_runs_and_a_stranger_no_button() -> None:
    async with visited() as visitor:
        home, page = await visitor.see("/"), await visitor.see(f"/runs/{RUN.id}")
        assert "idea" in home
        assert "waits for approval" in page
        assert "An approver must approve the run first." in page
        assert 'method="post"' not in home + page


async def test_what_moves_comes_without_its_frame() -> None:
    async with visited() as visitor:
        for path in ("/live", f"/runs/{RUN.id}/live"):
            part = await visitor.see(path)
            assert "<html" not in part
            assert "csrf" not in part


async def test_pages_depend_on_who_looks_and_are_not_kept() -> None:
    async with visited("boris", approver=True) as visitor:
        answer = await visitor.browser.get(f"/runs/{RUN.id}")
        assert answer.headers["cache-control"] == "private, no-cache"


async def test_an_approver_approves_by_one_click_on_the_start_page() -> None:
    async with visited("boris", approver=True) as visitor:
        assert f'action="/runs/{RUN.id}/approve"' in await visitor.see("/")
        answer = await visitor.press(f"/runs/{RUN.id}/approve", next="/")
        assert (answer.status_code, answer.headers["location"]) == (302, "/")
        assert (await visitor.run()).status.approver == "boris"
        assert "idea is approved." in await visitor.see("/")


async def test_a_refusal_is_told_on_the_page() -> None:
    async with visited("olga") as visitor:
        await visitor.press(f"/runs/{RUN.id}/approve")
        assert not (await visitor.run()).status.approved
        assert 'class="note error"' in await visitor.see(f"/runs/{RUN.id}")


async def test_an_approver_takes_an_approval_back() -> None:
    async with visited("boris", approver=True) as visitor:
        here = f"/runs/{RUN.id}"
        await visitor.press(f"{here}/approve")
        assert f'action="{here}/withdraw"' in await visitor.see(here)
        await visitor.press(f"{here}/withdraw")
        assert not (await visitor.run()).status.approved
        page = await visitor.see(here)
        assert "The approval of idea is withdrawn." in page
        assert f'action="{here}/withdraw"' not in page


async def test_an_owner_takes_no_approval_back() -> None:
    async with visited("olga") as visitor:
        here = f"/runs/{RUN.id}"
        await visitor.fleet.commands.approve(RUN.id, BOSS)
        assert f'action="{here}/withdraw"' not in await visitor.see(here)
        await visitor.press(f"{here}/withdraw")
        assert (await visitor.run()).status.approved
        assert 'class="note error"' in await visitor.see(here)


async def test_an_owner_changes_stops_deletes_and_restores() -> None:
    async with visited("olga") as visitor:
        here = f"/runs/{RUN.id}"
        change = {"priority": "-1", "info": "Slow\r\none", "auto_purge": "on"}
        await visitor.press(f"{here}/modify", throughput="50", **change)
        plan = (await visitor.run()).plan
        assert (plan.priority, plan.throughput, plan.auto_purge) == (-1, 50, True)
        assert plan.info == "Slow\none"
        await visitor.press(f"{here}/stop")
        assert (await visitor.run()).status.finished
        await visitor.press(f"{here}/delete")
        assert (await visitor.run()).status.deleted
        assert "deleted" in await visitor.see(here)
        await visitor.press(f"{here}/restore")
        assert not (await visitor.run()).status.deleted


async def test_a_run_that_was_stopped_is_extended_by_its_form() -> None:
    async with visited("olga") as visitor:
        here = f"/runs/{RUN.id}"
        await visitor.press(f"{here}/stop")
        assert "<summary>Extend</summary>" in await visitor.see(here)
        await visitor.press(f"{here}/modify", throughput="100")
        assert not (await visitor.run()).status.finished
        assert "<summary>Modify</summary>" in await visitor.see(here)


@pytest.mark.parametrize("priority", ["x", "1001", "1.5", "٣", "9" * 20])
async def test_a_priority_that_is_none_changes_nothing(priority: str) -> None:
    async with visited("olga") as visitor:
        page = await visitor.press(f"/runs/{RUN.id}/modify", priority=priority, throughput="50")
        assert (await visitor.run()).plan == RUN.plan
        assert "The priority must be a whole number" in page.text


async def test_a_refused_change_is_shown_as_it_was_typed() -> None:
    async with visited("olga") as visitor:
        typed = {"num-games": "-1", "priority": "7", "throughput": "50", "info": "<b>" * 40_000}
        answer = await visitor.press(f"/runs/{RUN.id}/modify", **typed)
        assert answer.status_code == 400
        assert re.search(r"<details[^>]* open>\s*<summary>Modify", answer.text)
        for name, text in (("num-games", "-1"), ("priority", "7"), ("throughput", "50")):
            assert re.search(rf'name="{name}"[^>]* value="{text}"', answer.text)
        assert "&lt;b&gt;" * 40_000 + "</textarea>" in answer.text
        assert 'value="on" checked' not in answer.text


async def test_each_error_of_a_change_stands_beside_its_field() -> None:
    async with visited("olga") as visitor:
        typed = {"num-games": "-1", "priority": "7", "info": "x" * 110_000}
        page = (await visitor.press(f"/runs/{RUN.id}/modify", **typed)).text
        for name, why in (
            ("num-games", "The number of games must be a whole number"),
            ("info", "The description is too long."),
        ):
            assert re.search(rf'id="{name}"[^>]* aria-describedby="{name}-error', page)
            assert re.search(rf'id="{name}-error">{why}', page)
        assert page.count('aria-invalid="true"') == 2
        assert re.search('id="num-games"[^>]* autofocus', page)


async def test_what_the_core_refuses_of_a_change_stands_beside_the_games() -> None:
    async with visited("olga") as visitor:
        answer = await visitor.press(f"/runs/{RUN.id}/modify", **{"num-games": "800001"})
        assert answer.status_code == 400
        assert 'id="num-games-error">The number of games must be a multiple of 1000' in answer.text
        assert 'step="1000" value="800001"' in answer.text
        assert 'class="note error"' not in await visitor.see("/")


async def test_who_has_no_form_for_a_change_is_told_on_the_next_page() -> None:
    async with visited("sven") as visitor:
        answer = await visitor.press(f"/runs/{RUN.id}/modify", priority="x")
        assert answer.status_code == 302
        assert "The priority must be a whole number" in await visitor.see("/")


async def test_what_is_copied_comes_with_the_verdict_and_the_rest_soon_after() -> None:
    async with open_site() as site:
        over = make_run("c", kind=sprt())
        tally = replace(over.tally, results=pairs(even=10, ww=4))
        await site.parts.fleet.commands.submit(replace(over, tally=tally), approver=BOSS.name)
        live = (await site.browser.get(f"/runs/{over.id}/live")).text
        assert "Ptnml(0-2): 0, 0, 10, 0, 4" in live
        late = (await site.browser.get(f"/runs/{over.id}/recent")).text
        assert re.findall('<div id="(contributed|recent)"', late) == ["contributed", "recent"]


async def test_a_purge_says_what_it_did() -> None:
    async with visited("olga") as visitor:
        await visitor.press(f"/runs/{RUN.id}/stop")
        await visitor.press(f"/runs/{RUN.id}/purge")
        assert "There was nothing to strike out." in await visitor.see("/")


async def test_a_button_of_another_site_does_nothing() -> None:
    async with visited("boris", approver=True) as visitor:
        answer = await visitor.browser.post(f"/runs/{RUN.id}/approve", data={"next": "/"})
        assert answer.status_code == 403
        assert not (await visitor.run()).status.approved


async def test_a_form_leads_to_no_other_site() -> None:
    async with visited("olga") as visitor:
        answer = await visitor.press(f"/runs/{RUN.id}/stop", next="//evil.example")
        assert answer.headers["location"] == f"/runs/{RUN.id}"


@pytest.mark.parametrize("path", [UNKNOWN, f"{UNKNOWN}/live", "/runs/x"])
async def test_an_unknown_run_is_not_found(path: str) -> None:
    async with visited() as visitor:
        assert (await visitor.browser.get(path)).status_code == 404


async def test_the_official_servers_address_of_a_run_leads_to_ours() -> None:
    async with visited() as visitor:
        answer = await visitor.browser.get(f"/tests/view/{RUN.id}")
        assert answer.headers["location"] == f"/runs/{RUN.id}"


async def test_texts_of_people_are_shown_as_texts() -> None:
    async with open_site() as site:
        plan = with_fields(make_plan(), info="<script>alert(1)</script>")
        await site.parts.fleet.commands.submit(make_run("b", plan, spsa()), approver=BOSS.name)
        for path in ("/", f"/runs/{make_run('b').id}"):
            assert "<script>alert" not in (await site.browser.get(path)).text


async def test_a_tune_and_a_finished_run_have_pages_too() -> None:
    async with open_site() as site:
        fleet, tune = site.parts.fleet, make_run("b", kind=spsa())
        await fleet.commands.submit(tune, approver=BOSS.name)
        over = make_run("c", kind=sprt())
        tally = replace(over.tally, results=pairs(even=10, ww=4))
        await fleet.commands.submit(replace(over, tally=tally), approver=BOSS.name)
        await fleet.commands.stop(over.id, BOSS)
        assert "0 of 500 iterations" in (await site.browser.get(f"/runs/{tune.id}")).text
        page = (await site.browser.get(f"/runs/{over.id}")).text
        assert "stopped" in page
        assert "Took" in page


async def test_a_run_of_a_private_engine_is_for_its_team_alone() -> None:
    async with open_site() as site:
        site.parts.engines.private["Stockfish"] = "falcons"
        await site.parts.fleet.commands.submit(RUN)
        here = f"/runs/{RUN.id}"
        for path in ("/", "/live"):
            assert "idea" not in (await site.browser.get(path)).text
        for path in (here, f"{here}/live"):
            assert (await site.browser.get(path)).status_code == 404
        stranger = Visitor(site.browser, site.parts.fleet)
        await _enter(site, "boris", approver=True)
        assert (await stranger.press(f"{here}/approve")).status_code == 404


async def test_a_link_to_a_public_run_is_previewed_and_one_to_a_private_run_is_not() -> None:
    """Not for members either: others would be shown what their browsers fetch."""
    sides = tuple(make_side(tag, engine="owls~Strix") for tag in ("wing", "master"))
    secret = make_run("b", make_plan(owner="olga", sides=sides), sprt(), approved=False)
    async with open_site() as site:
        await _enter(site, "olga", approver=False)
        lead, parts = Actor("olga"), site.parts
        await parts.teams.create("owls", lead)
        await parts.engines.put(EngineRecord(name="owls~Strix", team="owls", private=True), lead)
        for run in (RUN, secret):
            await parts.fleet.commands.submit(replace(run, created=parts.clock.now()))
            await parts.fleet.commands.approve(run.id, BOSS)
        shown = (await site.visitor().get(f"/runs/{RUN.id}")).text
        assert re.search(rf'property="og:url" content="http[^"]+/runs/{RUN.id}"', shown)
        assert 'property="og:title" content="idea' in shown
        private = await site.browser.get(f"/runs/{secret.id}")
        assert (private.status_code, "og:" in private.text) == (200, False)
        assert (await site.visitor().get(f"/runs/{secret.id}")).status_code == 404
