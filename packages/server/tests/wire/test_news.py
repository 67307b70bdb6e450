"""What a browser is sent to show as notifications of its own."""

import json
from collections.abc import AsyncIterator

import httpx
import pytest

from rookery.core.model.actor import Actor
from rookery.server.identity.users import User
from tests.eventually import eventually
from tests.people import BORIS, OLGA, SVEN
from tests.wire.apis import Api, open_api
from tests.wire.events import EventReader, reading
from tests.wire.secrets.plants import with_password
from tests.wire.test_user_pages import browser_of

pytestmark = pytest.mark.anyio

ALL = "/live/news?all=true"


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with open_api() as opened:
        for user in (BORIS, SVEN):
            await with_password(opened, user)
        yield opened


async def cookie_of(api: Api, user: User) -> dict[str, str]:
    browser: httpx.AsyncClient = await browser_of(api, user)
    return {"cookie": "; ".join(f"{name}={value}" for name, value in browser.cookies.items())}


def told_by(reader: EventReader) -> list[tuple[str, str]]:
    found = [json.loads(each.data) for each in reader.events if each.event == "told"]
    return [(each["kind"], each["run"]) for each in found]


async def stop(api: Api, run_id: str) -> None:
    await api.fleet.commands.stop(run_id, Actor("boris", approver=True), "enough")


async def test_who_follows_a_run_is_told_of_its_end_and_of_no_other(api: Api) -> None:
    followed, other = await api.submitted(), await api.submitted()
    await api.site.subscriptions.put(followed, "sven", following=True)
    async with reading(api.app, ALL, await cookie_of(api, SVEN)) as reader:
        await reader.until(1)
        await stop(api, other)
        await stop(api, followed)
        await eventually(lambda: bool(told_by(reader)))
        assert told_by(reader) == [("run_finished", followed)]


async def test_an_approver_is_told_of_what_begins_to_wait(api: Api) -> None:
    await api.submitted(OLGA)
    async with reading(api.app, ALL, await cookie_of(api, BORIS)) as reader:
        await reader.until(1)
        waiting = await api.submitted(OLGA)
        await eventually(lambda: bool(told_by(reader)))
        assert told_by(reader) == [("approval_needed", waiting)]


async def test_a_visitor_is_told_of_the_runs_that_were_chosen_there(api: Api) -> None:
    run_id = await api.submitted()
    async with reading(api.app, f"{ALL}&run={run_id}&run=nonsense") as reader:
        await reader.until(1)
        await stop(api, run_id)
        await eventually(lambda: bool(told_by(reader)))
        assert told_by(reader) == [("run_finished", run_id)]


async def test_what_ended_between_two_pages_is_told_and_what_ended_before_is_not(api: Api) -> None:
    before, between = await api.submitted(), await api.submitted()
    await stop(api, before)
    here = f"{ALL}&run={before}&run={between}"
    async with reading(api.app, here) as reader:
        (place,) = await reader.until(1)
    await stop(api, between)
    async with reading(api.app, f"{here}&after={json.loads(place.data)['after']}") as reader:
        await eventually(lambda: bool(told_by(reader)))
        assert told_by(reader) == [("run_finished", between)]
