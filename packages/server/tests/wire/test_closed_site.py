"""A closed site is for those with an account; workers go on working."""

from collections.abc import AsyncIterator

import pytest

from rookery.server.identity.users import Scope
from tests.people import OLGA
from tests.wire.apis import Api, open_api
from tests.wire.secrets.plants import with_password, worker_of
from tests.wire.test_login import log_in

pytestmark = pytest.mark.anyio

READS = ("/api/active_runs", "/api/finished_runs?page=1", "/api/v1/runs", "/api/v1/events")


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with open_api(login_to_view=True) as opened:
        yield opened


async def test_people_are_led_to_the_login(api: Api) -> None:
    for path in ("/", f"/runs/{'0' * 24}", "/nowhere"):
        answer = await api.visitor.get(path)
        assert (answer.status_code, answer.headers["location"]) == (303, f"/login?next={path}")
    assert (await api.visitor.get("/login")).status_code == 200


async def test_who_is_logged_in_sees_the_site(api: Api) -> None:
    await with_password(api, OLGA)
    assert (await log_in(api.visitor, username=OLGA.name)).status_code == 302
    assert (await api.visitor.get("/")).status_code == 200
    assert (await api.visitor.get("/api/active_runs")).status_code == 200


@pytest.mark.parametrize("path", READS)
async def test_programs_need_a_token(api: Api, path: str) -> None:
    refused = await api.visitor.get(path)
    assert refused.status_code == 401
    assert "error" in refused.json()


async def test_a_token_opens_the_apis_but_not_a_workers(api: Api) -> None:
    assert (await api.get("/api/active_runs", OLGA)).status_code == 200
    assert (await api.get("/api/v1/runs", OLGA)).status_code == 200
    token = await api.token(OLGA, frozenset({Scope.WORKER}))
    headers = {"authorization": f"Bearer {token}"}
    assert (await api.visitor.get("/api/v1/runs", headers=headers)).status_code == 401


async def test_workers_and_probes_need_no_session(api: Api) -> None:
    await with_password(api, OLGA)
    assert "version" in await worker_of(api, OLGA, "abcdef01").version()
    for path in ("/healthz", "/readyz", "/metrics"):
        assert (await api.visitor.get(path)).status_code == 200
    assert (await api.visitor.get("/api/nn/nn-0123456789ab.nnue")).status_code == 404


async def test_the_site_is_open_unless_it_is_closed() -> None:
    async with open_api() as api:
        assert (await api.visitor.get("/api/active_runs")).status_code == 200
