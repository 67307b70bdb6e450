"""The log of actions and the page of errors."""

import re
from html import escape, unescape

import pytest

from rookery.core.model.events import Action, about_user
from rookery.server.farm.rules.answers import HeldTask
from rookery.server.show.run_tables import address_task
from tests.makers import make_machine
from tests.people import OLGA
from tests.wire.apis import Api, open_api
from tests.wire.test_machines_pages import NAME, enter, play

pytestmark = pytest.mark.anyio


async def fail(api: Api, held: HeldTask, message: str) -> None:
    await api.fleet.fail_task(held, message)


async def test_the_log_tells_who_did_what_with_a_link_to_the_test() -> None:
    async with open_api() as api:
        held = await play(api)
        page = (await api.visitor.get("/log")).text
        assert "approved a test" in page
        assert f'href="/runs/{held.run}"' in page


async def test_the_log_is_filtered_by_kind_person_machine_day_and_words() -> None:
    async with open_api() as api:
        held = await play(api)
        await fail(api, held, "the build broke")
        day = f"{api.clock.now():%Y-%m-%d}"
        for query in ("action=failed_task", "user=wanda", f"machine={NAME}", "q=BUILD%20broke"):
            page = (await api.visitor.get(f"/log?{query}&since={day}&until={day}")).text
            assert "the build broke" in page, query
            assert "approved a test" not in page.partition("<table")[2], query
        for query in ("user=nobody", "until=2020-01-01", "q=100%25"):
            page = (await api.visitor.get(f"/log?{query}")).text
            assert "No matching entries" in page, query


async def test_older_lines_follow_by_a_place_that_does_not_move() -> None:
    async with open_api() as api:
        now = api.clock.now()
        for number in range(150):
            event = about_user(Action.NEW_USER, f"user{number}", f"user{number}", now, "")
            await api.site.audit.write(event)
        first = (await api.visitor.get("/log")).text
        assert "/log/live" in first
        older = first.partition('rel="next"')[0].rpartition('href="')[2].partition('"')[0]
        second = (await api.visitor.get(older.replace("&amp;", "&"))).text
        assert "user49<" in second
        assert "user50<" not in second
        assert "/log/live" not in second


async def test_what_concerns_one_person_is_in_nobody_elses_log() -> None:
    async with open_api() as api:
        event = about_user(Action.CHANGE_EMAIL, "olga", "olga", api.clock.now(), "secret matter")
        await api.site.audit.write(event)
        assert "secret matter" not in (await api.visitor.get("/log?text=secret")).text.replace(
            "“secret", ""
        )
        await enter(api, OLGA)
        assert "secret matter" in (await api.visitor.get("/log?text=secret")).text


async def test_what_somebody_did_to_themselves_names_them_once() -> None:
    async with open_api() as api:
        now = api.clock.now()
        await api.site.audit.write(about_user(Action.BLOCK_USER, "sven", "olga", now, "blocked"))
        await api.site.audit.write(about_user(Action.CHANGE_PASSWORD, "olga", "olga", now, ""))
        await enter(api)
        page = (await api.visitor.get("/log")).text
        assert 'href="/users/sven"' in page
        assert 'href="/users/olga"' not in page


async def test_failures_that_differ_in_numbers_alone_are_one_error() -> None:
    async with open_api() as api:
        held = await play(api)
        await fail(api, held, "no memory at 0x12")
        task = await api.granted(make_machine("n"))
        await fail(api, HeldTask(task.run, task.id, task.machine), "no memory at 0x77")
        page = (await api.visitor.get("/errors")).text
        assert page.count("no memory at") == 1
        assert "2 machines" in page
        assert f'href="{escape(address_task(held.run, held.task))}"' in page
        assert "No failed tasks" in (await api.visitor.get("/errors?kind=too+fast")).text


async def test_an_error_that_came_often_leads_to_all_its_lines_in_the_log() -> None:
    async with open_api() as api:
        held = await play(api)
        for number in range(7):
            await fail(api, held, f"no memory at {number}")
            task = await api.granted(make_machine(f"n{number}"))
            held = HeldTask(task.run, task.id, task.machine)
        page = (await api.visitor.get("/errors")).text
        (link,) = re.findall(r'href="([^"]+)">and 2 more<', page)
        log = (await api.visitor.get(unescape(link))).text
        assert len(re.findall("no memory at", log)) == 7
