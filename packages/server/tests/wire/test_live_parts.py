"""What moves on a page, sent to everybody who has it open."""

import zlib
from collections.abc import AsyncIterator

import anyio
import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rookery.core.model.run import Run
from rookery.server.boundary.domains import Domain, runs
from rookery.server.farm.primary import Rebuilding
from rookery.server.http.fragments import RenderedPart, make_part
from rookery.server.http.packing import GZIP
from rookery.server.runs.live import LivePages, LoadedRun
from tests.eventually import eventually
from tests.makers import make_run, pairs
from tests.twins.sites import open_site
from tests.wire.apis import Api, open_api
from tests.wire.events import reading

pytestmark = pytest.mark.anyio

STREAM = {"accept": "text/event-stream"}


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with open_api() as opened:
        yield opened


@pytest.mark.parametrize(
    "path",
    [
        *("/live", "/runs/{}/live", "/runs/{}/elo/live", "/log/live", "/machines/live"),
        "/tests/live?engine=Stockfish",
    ],
)
async def test_a_part_is_sent_at_once(api: Api, path: str) -> None:
    run_id = await api.submitted()
    here = path.format(run_id)
    async with reading(api.app, here, STREAM) as reader:
        (part,) = await reader.until(1)
        assert part.event == "part"
    assert (await api.visitor.get(here)).headers["content-type"].startswith("text/html")


async def test_a_part_is_sent_again_when_it_changed(api: Api) -> None:
    run_id = await api.submitted()
    async with reading(api.app, f"/runs/{run_id}/live", STREAM) as reader:
        await reader.until(1)
        await api.played(await api.granted(), pairs(ld=2, even=10, wd=4))
        await eventually(lambda: b"4 won" in reader.body)
        assert reader.body.count(b"event: part") == 2


async def test_many_are_sent_the_same_packed_bytes_made_once(api: Api) -> None:
    run_id = await api.submitted()
    packed = {**STREAM, "accept-encoding": "gzip"}
    before = api.site.shared_parts.renderings
    async with (
        reading(api.app, f"/runs/{run_id}/elo/live", packed, held=True) as one,
        reading(api.app, f"/runs/{run_id}/elo/live", packed, held=True) as other,
    ):
        one.going.set()
        other.going.set()
        await eventually(lambda: b"event: part" in unpack(one.body))
        await eventually(lambda: b"event: part" in unpack(other.body))
    assert api.site.shared_parts.renderings == before + 1


def unpack(body: bytes) -> bytes:
    return zlib.decompressobj(GZIP).decompress(body)


async def test_a_run_is_loaded_once_for_each_change_of_it() -> None:
    changes, loads = [1], list[int]()

    async def load() -> Run:
        loads.append(changes[-1])
        return make_run()

    known = LoadedRun(load, lambda: changes[-1])
    for change in (1, 1, 2, 2):
        changes.append(change)
        assert await known.find() == make_run()
    assert loads == [1, 2]


async def test_no_stream_begins_for_what_may_not_be_seen(api: Api) -> None:
    refused = await api.visitor.get(f"/runs/{'0' * 24}/live", headers=STREAM)
    assert refused.status_code == 404


async def test_what_could_not_be_shown_is_shown_as_soon_as_it_can_be() -> None:
    texts = iter(("before", "", "", "after"))

    async def find(_viewer: object) -> RenderedPart:
        # The first one is asked for before the stream begins.
        if text := next(texts, "after"):
            return make_part(text)
        raise Rebuilding

    @runs(Domain.STREAM, "the part of a server that is taking over")
    async def part(request: Request) -> Response:
        live: LivePages = request.app.state.features(LivePages)
        return await live.answer(request, find)

    async with (
        open_site(None, Route("/part", part)) as site,
        reading(site.app, "/part", STREAM) as reader,
    ):
        with anyio.fail_after(10):
            await reader.until(3)
    assert [each.event for each in reader.events] == ["alive", "alive", "part"]
