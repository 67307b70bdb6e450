"""Runs as server-sent events: who hears what, when they come back, and how much it costs us."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import anyio
import msgspec
import pytest

from rookery.core.model.run import DisplayState, Run
from rookery.core.protocol import v1
from rookery.server.engines.privacy import Privacy
from rookery.server.runs.events_api import EventFeed
from tests.eventually import eventually
from tests.makers import pairs
from tests.people import BORIS, OLGA
from tests.twins.sites import MemorySite
from tests.wire.apis import Api, open_api
from tests.wire.events import Sent, reading

pytestmark = pytest.mark.anyio

EVENTS = "/api/v1/events"


class OwnersOnly(Privacy):
    def may_see(self, viewer: str | None, run: Run) -> bool:
        return viewer == run.plan.owner


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with open_api() as opened:
        yield opened


def shown(sent: Sent) -> v1.RunDetails:
    assert sent.event == "run"
    return msgspec.json.decode(sent.data, type=v1.RunDetails)


async def test_a_run_is_shown_at_once_and_whenever_it_changes(api: Api) -> None:
    run_id = await api.submitted()
    async with reading(api.app, f"{EVENTS}?run={run_id}") as reader:
        (first,) = await reader.until(1)
        assert shown(first).state is DisplayState.PAUSED
        task = await api.granted()
        await api.played(task, pairs(ld=2, even=10, wd=4))
        await eventually(lambda: shown(reader.events[-1]).results.wins == 4)
        now = await api.get(f"/api/v1/runs/{run_id}")
        assert reader.events[-1].data == now.text


async def test_others_runs_are_not_told_of(api: Api) -> None:
    run_id, other = await api.submitted(), await api.submitted(OLGA)
    async with (
        reading(api.app, f"{EVENTS}?run={run_id}") as of_run,
        reading(api.app, f"{EVENTS}?user=olga") as of_olga,
        reading(api.app, EVENTS) as of_all,
    ):
        await api.post(f"/api/v1/runs/{other}/stop", OLGA)
        await api.post(f"/api/v1/runs/{run_id}/stop", BORIS)
        await eventually(lambda: len(of_run.events) == 2 and len(of_all.events) >= 2)
        assert {shown(each).id for each in of_run.events} == {run_id}
        assert {shown(each).id for each in of_olga.events} == {other}
        assert {shown(each).id for each in of_all.events} == {run_id, other}


async def test_who_comes_back_hears_what_changed_since_and_no_more(api: Api) -> None:
    first, second = await api.submitted(), await api.submitted()
    async with reading(api.app, EVENTS) as reader:
        position = reader.blocks[0].id
    await api.post(f"/api/v1/runs/{second}/stop", BORIS)
    for query, headers in ((f"?after={position}", {}), ("", {"last-event-id": position})):
        async with reading(api.app, EVENTS + query, headers) as reader:
            (event,) = await reader.until(1)
            assert shown(event).id == second
    async with reading(api.app, f"{EVENTS}?after=0", {"last-event-id": event.id}) as reader:
        await api.post(f"/api/v1/runs/{first}/stop", BORIS)
        (event,) = await reader.until(1)
        assert shown(event).id == first


async def test_who_was_away_for_too_long_is_told_so(api: Api) -> None:
    await api.submitted()
    async with reading(api.app, f"{EVENTS}?after=999999") as reader:
        assert [each.event for each in await reader.until(2)] == ["missed", "run"]
    for number in range(2100):
        api.site.bus.add(100 + number, [f"{number:024x}"])
    async with reading(api.app, f"{EVENTS}?after=1") as reader:
        (told,) = await reader.until(1)
        assert (told.event, told.id) == ("missed", "2199")


@pytest.mark.parametrize(
    "query", ["?run=x", "?after=-1", "?after=1e3", "?brief=x", f"?user={'x' * 101}"]
)
async def test_nonsense_is_refused(api: Api, query: str) -> None:
    assert (await api.get(EVENTS + query)).status_code == 400


async def test_an_unknown_run_is_not_found(api: Api) -> None:
    assert (await api.get(f"{EVENTS}?run={'f' * 24}")).status_code == 404


async def test_a_token_that_does_not_count_is_refused(api: Api) -> None:
    answer = await api.visitor.get(EVENTS, headers={"authorization": "Bearer rk_nonsense"})
    assert answer.status_code == 401


async def test_what_a_reader_may_not_see_is_not_told() -> None:
    def private(site: MemorySite) -> None:
        site.privacy = OwnersOnly(site.engines, site.teams)

    async with open_api(change=private) as api:
        run_id, other = await api.submitted(OLGA), await api.submitted(BORIS)
        hers = dict(await api.headers(OLGA))
        assert (await api.get(f"{EVENTS}?run={other}", OLGA)).status_code == 404
        assert (await api.get(f"{EVENTS}?run={run_id}")).status_code == 404
        async with reading(api.app, f"{EVENTS}?after=0", hers) as reader:
            (event,) = await reader.until(1)
            assert shown(event).id == run_id


async def test_many_readers_share_one_encoding(api: Api) -> None:
    run_id = await api.submitted()
    async with AsyncExitStack() as stack:
        readers = [
            await stack.enter_async_context(reading(api.app, f"{EVENTS}?run={run_id}"))
            for _ in range(50)
        ]
        for reader in readers:
            await reader.until(1)
        before = api.site.threads.stats()
        await api.post(f"/api/v1/runs/{run_id}/stop", BORIS)
        for reader in readers:
            await reader.until(2)
        after = api.site.threads.stats()
        calls = {one.name: one.calls for one in after}["cpu"]
        assert calls - {one.name: one.calls for one in before}["cpu"] <= 2


async def test_a_reader_that_does_not_read_gets_the_last_state_when_it_does(api: Api) -> None:
    run_id = await api.submitted()
    async with reading(api.app, f"{EVENTS}?run={run_id}", held=True) as reader:
        for priority in range(20):
            change = {"priority": priority}
            await api.post(f"/api/v1/runs/{run_id}/modify", BORIS, dict(change))
        reader.going.set()
        await eventually(lambda: bool(reader.events))
        await eventually(lambda: shown(reader.events[-1]).priority == 19)
        assert len(reader.events) <= 3


async def test_there_is_an_end_to_how_many_streams_there_are() -> None:
    async with open_api(event_streams=1) as api:
        async with reading(api.app, EVENTS):
            with anyio.fail_after(10):
                answer = await api.get(EVENTS)
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
        async with reading(api.app, EVENTS) as reader:
            assert reader.status == 200


async def test_events_wait_while_the_state_is_rebuilt(api: Api) -> None:
    run_id = await api.submitted()
    async with reading(api.app, f"{EVENTS}?run={run_id}") as reader:
        await reader.until(1)
        api.site.store.commits.lose()
        api.site.bus.add(api.site.bus.sequence + 1, [run_id])
        await reader.until(2)
        assert shown(reader.events[-1]).id == run_id


async def test_the_end_of_the_server_ends_a_stream(api: Api) -> None:
    async with reading(api.app, EVENTS) as reader:
        api.site.streams.end_all()
        await eventually(lambda: reader.ended)
        assert reader.body.endswith(b": the server is stopping\n\n")
    assert api.site.bus.stats().subscribers == 0


def attentive(api: Api) -> str:
    """Where events are told with a look at the reader every few milliseconds."""
    features = api.app.state.features
    features.add(EventFeed, features.make(EventFeed, keep_alive=0.01))
    return EVENTS


async def test_a_silent_stream_shows_that_it_is_alive(api: Api) -> None:
    async with reading(api.app, attentive(api)) as reader:
        await eventually(lambda: reader.body.endswith(b":\n\n:\n\n"))


async def test_a_revoked_token_ends_its_streams(api: Api) -> None:
    headers = dict(await api.headers(OLGA))
    (token,) = await api.tokens.of("olga")
    async with reading(api.app, attentive(api), headers) as reader:
        await api.tokens.revoke(token.id, api.clock.now())
        api.site.bearers.forget_all()
        await eventually(lambda: reader.ended)


async def test_runs_that_did_not_change_are_not_read_again(api: Api) -> None:
    ids = [await api.submitted() for _ in range(5)]
    async with reading(api.app, f"{EVENTS}?after=0") as reader:
        await reader.until(5)
    before = {one.name: one.calls for one in api.site.threads.stats()}["cpu"]
    await api.post(f"/api/v1/runs/{ids[0]}/stop", BORIS)
    async with reading(api.app, f"{EVENTS}?after=0") as reader:
        await reader.until(5)
    after = {one.name: one.calls for one in api.site.threads.stats()}["cpu"]
    assert after - before == 1


async def test_who_looks_by_themselves_is_told_that_a_run_changed_and_no_more(api: Api) -> None:
    run_id = await api.submitted()
    async with reading(api.app, f"{EVENTS}?run={run_id}&brief=1") as reader:
        (event,) = await reader.until(1)
        assert msgspec.json.decode(event.data) == {"id": run_id, "state": "paused"}
