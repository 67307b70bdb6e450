"""More visitors than pages can be rendered for are told so at once, and hold no memory."""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from threading import Event
from typing import Any

import anyio
import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from rookery.core.boundary.offload import Threads
from rookery.server.boundary.domains import Domain, runs
from rookery.server.http import request_log
from tests.eventually import eventually
from tests.makers import pairs
from tests.people import BORIS
from tests.twins.sites import open_site
from tests.wire.apis import open_api
from tests.wire.worker.farm import GAMES, open_farm

pytestmark = pytest.mark.anyio
QUEUE, VISITORS = 5, 20


async def test_pages_wait_in_a_queue_that_ends() -> None:
    statuses: Counter[int] = Counter()
    async with open_site() as site:
        threads, release = site.parts.threads, Event()
        threads._cpu.queue = QUEUE

        async def visit() -> None:
            answer = await site.browser.get("/login")
            statuses[answer.status_code] += 1
            if answer.status_code == 503:
                assert answer.headers["retry-after"] == "5"
                assert answer.text == "The server is busy. Try again in a moment.\n"

        async with anyio.create_task_group() as group:
            for _ in range(int(threads._cpu.limiter.total_tokens)):
                group.start_soon(threads.cpu, release.wait)
            await anyio.wait_all_tasks_blocked()
            for _ in range(VISITORS):
                group.start_soon(visit)
            await eventually(lambda: statuses[503] == VISITORS - QUEUE)
            release.set()
        assert statuses == {200: QUEUE, 503: VISITORS - QUEUE}
        assert "request_failed" not in site.log.events()


@asynccontextmanager
async def crowd(threads: Threads) -> AsyncIterator[None]:
    """As many calls as may wait for a computing thread, for the length of the block."""
    release = Event()
    threads._cpu.queue = 0
    async with anyio.create_task_group() as group:
        for _ in range(int(threads._cpu.limiter.total_tokens)):
            group.start_soon(threads.cpu, release.wait)
        await anyio.wait_all_tasks_blocked()
        try:
            yield
        finally:
            release.set()


@runs(Domain.LOOP, "answers with a long text at once")
async def long_text(_request: Request) -> Response:
    return PlainTextResponse("rook" * 10_000)


async def test_what_was_done_is_answered_uncompressed_where_nothing_is_left_to_compress_it() -> (
    None
):
    async with open_site(None, Route("/long", long_text)) as site:
        async with crowd(site.parts.threads):
            answer = await site.browser.get("/long")
        assert (answer.status_code, answer.text) == (200, "rook" * 10_000)
        assert "content-encoding" not in answer.headers


async def in_a_crowd(threads: Threads, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Does something that computes; the crowd leaves when its turn has come to wait."""
    async with anyio.create_task_group() as group, crowd(threads):
        group.start_soon(work)
        computing = threads._cpu
        await eventually(lambda: computing.stats().waiting + computing.refused > 0)


async def test_a_crowd_of_visitors_ends_no_purge() -> None:
    async with open_api() as api:
        run_id = await api.submitted(BORIS)
        await api.played(await api.granted(), pairs(even=16, crashes=5))
        await api.post(f"/api/v1/runs/{run_id}/stop", BORIS)
        answers: list[int] = []

        async def purge() -> None:
            answer = await api.post(f"/api/v1/runs/{run_id}/purge", BORIS)
            answers.append(answer.status_code)

        await in_a_crowd(api.site.threads, purge)
        assert answers == [200]


async def test_a_crowd_of_visitors_refuses_no_workers_games() -> None:
    async with open_farm() as farm:
        await farm.submit()
        worker = farm.worker()
        await worker.request_task()

        async def upload() -> None:
            assert "error" not in await worker.call("upload_pgn", message="", pgn=GAMES)

        await in_a_crowd(farm.parts.threads, upload)
        assert len(farm.parts.pgns.rows) == 1


async def test_visitors_wait_for_their_turn_in_a_queue_that_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(request_log, "MOST_WAITING", QUEUE)
    statuses: Counter[int] = Counter()
    async with open_site() as site:
        turns = site.parts.turns
        turns._at_once = turns._left = 0  # nobody's turn comes

        async def visit() -> None:
            answer = await site.browser.get("/login")
            statuses[answer.status_code] += 1
            if answer.status_code == 503:
                assert answer.headers["retry-after"] == "5"

        async with anyio.create_task_group() as group:
            for _ in range(VISITORS):
                group.start_soon(visit)
            await eventually(lambda: statuses[503] == VISITORS - QUEUE)
            turns._at_once = 1
        assert statuses == {200: QUEUE, 503: VISITORS - QUEUE}
        assert site.log.fields("request_refused")["why"] == "Overloaded"
