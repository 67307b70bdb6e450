"""The list of machines and the page of one."""

from dataclasses import replace
from datetime import timedelta
from html import escape

import pytest

from rookery.core.model.actor import Actor
from rookery.core.model.machine import ClaimedAbilities
from rookery.server.farm.hosts import FleetSnapshot, Roster
from rookery.server.farm.rules.answers import HeldTask
from rookery.server.http.pages.page import render_part
from rookery.server.identity.users import User
from rookery.server.machines.list.page import MachineFilters, MachineListData, list_machines
from rookery.server.show.run_tables import address_task
from tests.makers import BOSS, NOW, make_machine
from tests.pages.games import packed_games
from tests.people import BORIS, OLGA
from tests.wire.apis import Api, open_api
from tests.wire.secrets.plants import with_password
from tests.wire.test_login import log_in, token_in

pytestmark = pytest.mark.anyio

NAME = make_machine().short_name
WANDA = replace(OLGA, name="wanda", email="wanda@example.org")


async def enter(api: Api, user: User = BORIS) -> None:
    await with_password(api, user)
    assert (await log_in(api.visitor, username=user.name)).status_code == 302


async def play(api: Api) -> HeldTask:
    run_id = await api.submitted(OLGA)
    await api.fleet.commands.approve(run_id, Actor("boris", approver=True))
    task = await api.granted()
    return HeldTask(task.run, task.id, task.machine)


async def test_a_machine_is_listed_with_its_owner_and_the_test_it_plays() -> None:
    async with open_api() as api:
        held = await play(api)
        page = (await api.visitor.get("/machines")).text
        assert "wanda" in page
        assert f'href="/machines/{NAME}"' in page
        assert f'href="/runs/{held.run}"' in page


async def test_a_search_that_finds_nothing_says_so() -> None:
    async with open_api() as api:
        await play(api)
        assert "No matching machines" in (await api.visitor.get("/machines?text=zzz")).text


async def test_how_old_it_is_is_told_where_another_server_told_it() -> None:
    async with open_api() as api:
        for since, words in ((NOW - timedelta(seconds=7), "As of 7 s ago."), (None, "As of")):
            picture = FleetSnapshot(NOW, (), {}, {}, since)
            data = MachineListData(NOW, None, MachineFilters(), Roster(picture, ()))
            part = await render_part(api.site, "machine_list_live.html", list_machines, data)
            assert (words in part.text) == (since is not None)


async def test_an_approver_blocks_a_machine_with_a_reason_and_lets_it_back_in() -> None:
    async with open_api() as api:
        await play(api)
        await enter(api)
        page = await api.visitor.get(f"/machines/{NAME}")
        form = {"csrf_token": token_in(page), "message": "too hot"}
        await api.visitor.post(f"/machines/{NAME}/block", data=form)
        assert (await api.fleet.views.blocks())[NAME] == "too hot"
        page = await api.visitor.get(f"/machines/{NAME}")
        assert "too hot" in page.text
        await api.visitor.post(f"/machines/{NAME}/unblock", data={"csrf_token": token_in(page)})
        assert NAME not in await api.fleet.views.blocks()


async def test_an_owner_is_told_that_an_approver_blocked_a_machine() -> None:
    async with open_api() as api:
        await play(api)
        await api.fleet.commands.block(NAME, "too hot", BOSS)
        await api.site.users.add(WANDA)
        await enter(api, WANDA)
        page = (await api.visitor.get(f"/machines/{NAME}")).text
        assert "only an approver can unblock it" in page
        assert "Unblock" not in page


async def test_blocked_machines_are_a_choice_with_their_number_and_reasons() -> None:
    async with open_api() as api:
        await play(api)
        assert "state=blocked" not in (await api.visitor.get("/machines")).text
        await api.fleet.commands.block("wanda-8cores-87654321", "too hot", BOSS)
        await enter(api)
        page = (await api.visitor.get("/machines")).text
        assert 'href="/machines?state=blocked" >blocked <span class="count">1</span>' in page
        page = (await api.visitor.get("/machines?state=blocked")).text
        assert "wanda-8cores-87654321" in page
        assert "too hot" in page
        assert NAME not in page


async def test_the_speed_of_a_machine_that_waits_is_compared_by_what_it_played_last() -> None:
    async with open_api() as api:
        held = await play(api)
        await api.fleet.commands.stop(held.run, BOSS)
        await api.fleet.request_task(make_machine(nps=1e6), limit=100)
        await enter(api)
        page = (await api.visitor.get("/machines?state=waiting")).text
        assert "of reference" in page
        assert "of the reference" in (await api.visitor.get(f"/machines/{NAME}")).text


async def test_a_noisy_machine_is_shown_as_one() -> None:
    async with open_api() as api:
        held = await play(api)
        await api.fleet.commands.stop(held.run, BOSS)
        await enter(api)
        assert "Noisy" not in (await api.visitor.get(f"/machines/{NAME}")).text
        noisy = make_machine(rookery=ClaimedAbilities(noisy=True))
        await api.fleet.request_task(noisy, limit=100)
        page = (await api.visitor.get(f"/machines/{NAME}")).text
        assert "it plays no tests that need exact times" in page


async def test_a_block_without_a_reason_is_refused_in_words() -> None:
    async with open_api() as api:
        await play(api)
        await enter(api)
        token = token_in(await api.visitor.get(f"/machines/{NAME}"))
        here = f"/machines/{NAME}"
        await api.visitor.post(f"{here}/block", data={"csrf_token": token, "message": " "})
        assert "Enter a reason." in (await api.visitor.get(here)).text
        assert NAME not in await api.fleet.views.blocks()


async def test_a_failure_is_shown_to_all_and_its_log_to_approvers_alone() -> None:
    async with open_api() as api:
        held = await play(api)
        await api.fleet.fail_task(held, "the build broke")
        await api.site.logs.store(held, "/api/failed_task", "cc: no such file")
        page = (await api.visitor.get(f"/machines/{NAME}")).text
        assert "the build broke" in page
        assert "/api/v1/logs/" not in page
        await enter(api)
        assert 'href="/api/v1/logs/1"' in (await api.visitor.get(f"/machines/{NAME}")).text


async def test_a_task_leads_to_its_place_in_the_list_of_its_run_and_to_its_games() -> None:
    async with open_api() as api:
        held = await play(api)
        (task,) = await api.fleet.views.tasks_at_play((held.run,))
        games = f"/api/pgn/{held.run}-{held.task}.pgn"
        page = (await api.visitor.get(f"/machines/{NAME}")).text
        link = address_task(held.run, held.task)
        assert f'href="{escape(link)}"' in page
        assert games not in page
        listed = (await api.visitor.get(link)).text
        assert f'id="{link.partition("#")[2]}"' in listed
        await api.site.games.upload(task, packed_games(2))
        assert f'href="{games}"' in (await api.visitor.get(f"/machines/{NAME}")).text


async def test_a_machine_that_nobody_knows_has_no_page() -> None:
    async with open_api() as api:
        assert (await api.visitor.get("/machines/olga-4cores-12345678")).status_code == 404
        assert (await api.visitor.get("/machines/nonsense")).status_code == 404
