"""A run is looked at before it is made."""

from collections.abc import AsyncIterator

import httpx
import msgspec
import pytest
from msgspec import UNSET

from rookery.core.protocol import v1
from rookery.server.farm.hosts import ROSTER_SECONDS
from tests.makers import make_machine
from tests.people import BORIS
from tests.submissions import SPRT, body
from tests.wire.apis import Api, open_api

pytestmark = pytest.mark.anyio


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with open_api() as opened:
        yield opened


async def asked(api: Api, **changes: object) -> httpx.Response:
    return await api.post("/api/v1/runs/preview", BORIS, body(**changes))


async def preview(api: Api, **changes: object) -> v1.Preview:
    answer = await asked(api, **changes)
    assert answer.status_code == 200, answer.text
    return msgspec.json.decode(answer.content, type=v1.Preview)


async def test_nothing_is_made(api: Api) -> None:
    await preview(api)
    assert await api.fleet.views.active() == ()


async def test_a_sequential_test_tells_how_it_goes_at_its_bounds(api: Api) -> None:
    found = await preview(api, sprt=SPRT, num_games=None)
    low, middle, high = found.lengths
    assert (low.elo, middle.elo, high.elo) == (0.0, 1.0, 2.0)
    assert low.pass_chance == pytest.approx(0.05, abs=0.01)
    assert high.pass_chance == pytest.approx(0.95, abs=0.01)
    assert middle.early_games < middle.mean_games < middle.late_games
    assert found.games == pytest.approx(middle.mean_games, rel=0.05)


async def test_fixed_games_are_all_played(api: Api) -> None:
    found = await preview(api, num_games=1000)
    assert (found.games, found.lengths) == (1000, ())
    assert found.core_hours == pytest.approx(1000 * 1.84 * (10 + 68 * 0.1) / 3600)


async def test_machines_that_wait_count_too(api: Api) -> None:
    await api.fleet.request_task(make_machine(cores=6), limit=4)
    found = (await preview(api)).fleet
    assert (found.machines, found.cores) == (1, 6)
    assert isinstance(found.hours, float)


async def test_the_machines_at_play_tell_how_long_it_takes(api: Api) -> None:
    assert (await preview(api)).fleet == v1.FleetNow(machines=0, cores=0)
    await api.submitted(BORIS)
    task = await api.granted()
    api.clock.move(seconds=ROSTER_SECONDS)
    found = await preview(api)
    assert (found.fleet.machines, found.fleet.cores) == (1, task.machine.cores)
    assert found.fleet.hours == pytest.approx(found.core_hours / task.machine.cores)
    # An official worker plays no fixed nodes.
    assert (await preview(api, tc="N=5000")).fleet.hours is UNSET


async def test_programs_need_not_be_there_yet(api: Api) -> None:
    found = await preview(api, new_binary="c" * 64, resolved_new=None, new_signature=None)
    assert "binary" in found.needs


async def test_what_would_be_refused_is_refused(api: Api) -> None:
    answer = await asked(api, tc="10+")
    assert answer.status_code == 400
    assert "tc: " in answer.text
    assert (await api.visitor.post("/api/v1/runs/preview", json=body())).status_code == 401
