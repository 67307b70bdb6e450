"""A secondary answers workers as the primary does, byte for byte; games it keeps itself."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import httpx
import pytest

from rookery.server.http import forwarding
from tests.eventually import eventually
from tests.makers import BOSS, pairs
from tests.twins.instances import SharedLease, open_secondary, served
from tests.twins.people import MemoryUsers
from tests.twins.sites import MemorySite
from tests.wire.worker.farm import GAMES, PATHS, ServedFarm, Worker, is_retryable, open_farm
from tests.wire.worker.test_trace import SAID, Exchange, Speaker, let_in, run_of
from tests.workers.official import call_of

pytestmark = pytest.mark.anyio


@dataclass(frozen=True, slots=True)
class ForwardedFarm:
    """A farm whose workers call a secondary; `inner` is called itself."""

    farm: ServedFarm
    inner: ServedFarm
    secondary: MemorySite
    lease: SharedLease


@asynccontextmanager
async def open_forwarded() -> AsyncIterator[ForwardedFarm]:
    users = MemoryUsers()
    async with open_farm(users) as inner, served(inner.site.app, inner.parts) as address:
        lease = SharedLease(address)
        store = inner.parts.store
        async with (
            open_secondary(lease, inner.clock, users, store.rows) as secondary,
            served(secondary.app, secondary.parts) as own,
            httpx.AsyncClient(base_url=own, headers={"host": "localhost"}, verify=False) as browser,
        ):
            farm = replace(inner, site=replace(inner.site, browser=browser))
            yield ForwardedFarm(farm, inner, secondary.parts, lease)


@pytest.fixture
async def forwarded() -> AsyncIterator[ForwardedFarm]:
    async with open_forwarded() as opened:
        yield opened


class Listener(Speaker):
    """Keeps what it was answered, as it was sent."""

    def __init__(self, farm: ServedFarm, run: object) -> None:
        super().__init__(farm, run)  # type: ignore[arg-type]  # as its base takes it
        self.heard: list[tuple[int, str, bytes]] = []
        self._worker.browser.event_hooks = {"response": [self._keep]}

    async def _keep(self, answer: httpx.Response) -> None:
        await answer.aread()
        self.heard.append((answer.status_code, answer.headers["content-type"], answer.content))


async def listen(farm: ServedFarm, said: list[Exchange]) -> list[tuple[int, str, bytes]]:
    await let_in(farm, said[0]["request"])
    farm.parts.rules.trusted.add(said[0]["request"]["worker_info"]["username"])
    run = run_of(said, farm)
    await farm.parts.fleet.commands.submit(run, approver=BOSS.name)
    listener = Listener(farm, run)
    for exchange in said:
        await listener.say(exchange)
        farm.clock.move(seconds=1)
    return listener.heard


UNDRAWN = {name: said for name, said in SAID.items() if "request_spsa" not in map(call_of, said)}
"""Values of a tune are drawn by chance, and differ from one farm to the next."""


@pytest.mark.parametrize("said", UNDRAWN.values(), ids=UNDRAWN.keys())
async def test_a_conversation_sounds_the_same_through_a_secondary(said: list[Exchange]) -> None:
    async with open_farm() as direct:
        expected = await listen(direct, said)
    async with open_forwarded() as through:
        assert await listen(through.farm, said) == expected


async def test_each_call_of_strangers_and_nonsense_is_answered_alike(
    forwarded: ForwardedFarm,
) -> None:
    bodies: list[object] = [b"", b"{", b"[]", {"password": "wrong", "worker_info": {}}, b"\xff"]
    bodies.append(Worker(forwarded.farm.site.browser, {"username": "nobody"}).body())
    for path in PATHS:
        for body in bodies:
            direct = await forwarded.inner.worker().send(path, body)
            through = await forwarded.farm.worker().send(path, body)
            assert through.status_code == direct.status_code, (path, body)
            assert through.content == direct.content, (path, body)


async def test_all_calls_but_games_are_carried_out_by_the_primary(
    forwarded: ForwardedFarm,
) -> None:
    await forwarded.farm.submit()
    worker = forwarded.farm.worker()
    await worker.request_task()
    await worker.update(pairs(even=1))
    before = forwarded.secondary.forwarder.stats().sent
    assert await worker.call("upload_pgn", pgn=GAMES) == {"duration": 0.0}
    assert forwarded.secondary.forwarder.stats().sent == before
    assert [len(each.pgns.rows) for each in (forwarded.secondary, forwarded.inner.parts)] == [1, 0]


async def test_a_worker_keeps_its_address_and_its_country_through_a_secondary(
    forwarded: ForwardedFarm,
) -> None:
    await forwarded.farm.submit()
    worker = forwarded.farm.worker()
    answer = await forwarded.farm.site.browser.post(
        "/api/request_task",
        content=json.dumps(worker.body()).encode(),
        headers={"x-country-code": "FR", "x-forwarded-for": "203.0.113.9"},
    )
    assert "run" in answer.json()
    (task,) = forwarded.inner.parts.store.rows.tasks.values()
    # No proxy was named, so that nobody's word counts for where somebody is.
    assert (task.machine.address, task.machine.country) == ("127.0.0.1", "?")


async def test_a_waiting_worker_hears_of_work_and_one_that_left_gets_none(
    forwarded: ForwardedFarm,
) -> None:
    line = forwarded.inner.parts.waiting_line
    ours: dict[str, Any] = {"rookery": {"version": "1"}}
    stays, leaves = (forwarded.farm.worker(key=key, **ours) for key in ("aaaaaaaa", "bbbbbbbb"))
    leaving = asyncio.ensure_future(leaves.call("request_task", rookery={"wait": 40}))
    staying = asyncio.ensure_future(stays.call("request_task", rookery={"wait": 40}))
    await eventually(lambda: len(line) == 2)
    leaving.cancel()
    await eventually(lambda: len(line) == 1)
    run = await forwarded.farm.submit()
    assert (await staying)["run"]["_id"] == run.id
    assert len(forwarded.inner.parts.store.rows.tasks) == 1


async def test_without_a_primary_no_call_gets_a_verdict(
    forwarded: ForwardedFarm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forwarding, "PATIENCE_SECONDS", 0.2)
    forwarded.lease.pass_to("", live=False)
    worker = forwarded.farm.worker()
    for path in set(PATHS) - {"upload_pgn"}:
        answer = await worker.send(path, worker.body(run_id="a" * 24, task_id=0))
        assert answer.status_code == 503
        assert is_retryable(answer)
        assert answer.headers["retry-after"] == "5"
