"""What holds for every answer, and the pages and probes that the frame itself has."""

from dataclasses import replace

import httpx
import msgspec
import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from rookery.core.boundary.errors import Undeclared
from rookery.server.app.routes import create_app, declared_inventory
from rookery.server.http.scope import WORKER_PATHS
from rookery.server.servers.metrics import PoolStats
from rookery.server.worker_api.calls import worker_routes
from rookery.server.worker_api.short_path import ShortPath
from tests.fakes import RecordedLog
from tests.twins.sites import SETTINGS, MemorySite, make_site, open_site
from tests.wire.slow_routes import slow_routes

pytestmark = pytest.mark.anyio


async def no_database() -> None:
    raise ConnectionError


async def test_the_start_page_says_what_this_is_and_how_it_is_doing() -> None:
    async with open_site() as site:
        page = await site.browser.get("/")
        assert page.status_code == 200
        assert "Ready" in page.text
        assert "set-cookie" not in page.headers


@pytest.mark.parametrize("path", ["/", "/login", "/nowhere"])
async def test_every_page_says_that_a_simulated_fleet_plays(path: str) -> None:
    async with open_site(make_site(replace(SETTINGS, simulated_fleet=True))) as site:
        assert "A simulated fleet plays here" in (await site.browser.get(path)).text


async def test_every_page_of_an_invented_farm_says_so() -> None:
    site = make_site(replace(SETTINGS, simulated_fleet=True))
    site.templates.mark_invented()
    async with open_site(site) as opened:
        for path in ("/", "/login", "/nowhere"):
            page = (await opened.browser.get(path)).text
            assert "Demo data" in page
            assert "simulated fleet" not in page


async def test_no_page_speaks_of_a_simulated_fleet_where_none_plays() -> None:
    async with open_site() as site:
        assert "simulated" not in (await site.browser.get("/")).text


async def test_the_start_page_works_without_a_database() -> None:
    async with open_site(make_site(database_answers=no_database)) as site:
        page = await site.browser.get("/")
        assert page.status_code == 200
        assert "Not ready" in page.text


@pytest.mark.parametrize("path", ["/", "/login", "/healthz", "/readyz", "/metrics", "/nowhere"])
async def test_head_is_get_without_the_body(path: str) -> None:
    async with open_site() as site:
        head, get = await site.browser.head(path), await site.visitor().get(path)
        assert head.status_code == get.status_code
        assert head.content == b""
        assert head.headers["content-type"] == get.headers["content-type"]


async def test_head_of_a_stream_ends() -> None:
    async with open_site(None, *slow_routes()) as site:
        head = await site.browser.head("/slow/ticks")
        assert head.headers["content-type"].startswith("text/event-stream")
        assert len(site.parts.streams) == 0


async def test_head_is_refused_where_get_is() -> None:
    async with open_site() as site:
        assert (await site.browser.head("/logout")).status_code == 405


@pytest.mark.parametrize("path", ["/", "/nowhere", "/api/nowhere", "/healthz"])
async def test_browsers_are_told_to_forbid_what_no_page_needs(path: str) -> None:
    async with open_site() as site:
        headers = (await site.browser.get(path)).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe-inline" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"


@pytest.mark.parametrize("path", ["/", "/login", "/nowhere"])
async def test_pages_have_no_inline_script_or_style_and_nothing_from_elsewhere(path: str) -> None:
    async with open_site() as site:
        text = (await site.browser.get(path)).text
        for word in ("<script>", "<style", " style=", " onclick=", "https://"):
            assert word not in text


async def test_the_style_sheet_may_be_kept_for_ever() -> None:
    async with open_site() as site:
        page = (await site.browser.get("/")).text
        address = page.split('rel="stylesheet" href="')[1].split('"')[0]
        sheet = await site.browser.get(address)
        assert sheet.status_code == 200
        assert "immutable" in sheet.headers["cache-control"]
        assert sheet.headers["vary"] == "accept-encoding"
        wrong = await site.browser.get("/static/000000000000/rookery.css")
        assert wrong.status_code == 404


async def test_ready_only_with_a_database() -> None:
    async with open_site() as site:
        assert (await site.browser.get("/readyz")).json() == {"ready": True, "role": "primary"}
    async with open_site(make_site(database_answers=no_database)) as site:
        answer = await site.browser.get("/readyz")
        assert answer.status_code == 503
        assert answer.json()["reason"] == "the database can't be used: ConnectionError"


async def test_while_stopping_requests_are_turned_away_and_probes_answered() -> None:
    async with open_site() as site:
        site.parts.lifecycle.stop()
        for path in ("/", "/api/beat", "/api/active_runs"):
            answer = await site.browser.post(path)
            assert answer.status_code == 503
            assert answer.headers["content-type"].startswith("text/plain")
        assert (await site.browser.get("/healthz")).status_code == 200
        assert (await site.browser.get("/readyz")).status_code == 503


def secondary() -> MemorySite:
    site = make_site()
    site.rules.primary = False
    return site


@pytest.mark.parametrize("path", sorted(WORKER_PATHS - {"/api/upload_pgn"}))
async def test_a_secondary_sends_workers_away_without_json(path: str) -> None:
    async with open_site(secondary()) as site:
        answer = await site.browser.post(path, json={})
        assert answer.status_code == 503
        assert answer.headers["content-type"].startswith("text/plain")


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
async def test_no_path_of_a_worker_goes_through_what_is_for_browsers(method: str) -> None:
    parts, passed = make_site(), list[str]()
    routes = worker_routes(parts)

    async def long_way(scope: Scope, receive: Receive, send: Send) -> None:
        passed.append(scope["path"])
        await Response()(scope, receive, send)

    short = ShortPath(long_way, parts, routes, word="w")
    transport = httpx.ASGITransport(short)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        for path in (*sorted(WORKER_PATHS), "/api/beat/", "/api/nowhere"):
            await client.request(method, path)
    assert passed == ["/api/beat/", "/api/nowhere"]


async def test_a_secondary_answers_everybody_else() -> None:
    async with open_site(secondary()) as site:
        assert "Secondary" in (await site.browser.get("/")).text


async def test_metrics_count_requests_by_route_and_show_the_crossings() -> None:
    parts = make_site()
    parts.pool_stats = lambda: PoolStats(size=3, idle=1, most=10)
    async with open_site(parts) as site:
        await site.browser.get("/static/a/b")
        await site.browser.request("BREW", "/nowhere")
        text = (await site.browser.get("/metrics")).text
    for line in (
        'rookery_requests_total{method="GET",route="/static/{digest}/{name}",status="404"} 1.0',
        'rookery_requests_total{method="other",route="(none)",status="404"} 1.0',
        'rookery_request_seconds_count{route="(none)"} 1.0',
        'rookery_threads_size{name="io"} 200.0',
        'rookery_gate_size{name="request_task"} 5.0',
        "rookery_bridge_calls_total 0.0",
        "rookery_pool_connections 3.0",
        "rookery_primary 1.0",
        'rookery_loop_calls_total{name="GET /static/{digest}/{name}"} 1.0',
    ):
        assert line in text


async def test_a_request_is_logged_where_wanted() -> None:
    async with open_site(make_site(replace(SETTINGS, access_log=True))) as site:
        answer = await site.browser.get("/healthz")
        line = site.log.fields("request")
        assert line["status"] == 200
        assert line["request"] == answer.headers["x-request-id"]


async def test_programs_are_nobody_without_the_token_whatever_their_cookie() -> None:
    async with open_site(None, *slow_routes()) as site:
        answer = await site.browser.post("/api/echo", json={"name": "x"})
        assert answer.json() == {"name": "x", "count": 0}


async def test_the_description_lists_the_json_routes() -> None:
    async with open_site(None, *slow_routes()) as site:
        answer = await site.browser.get("/openapi.json")
        document = msgspec.json.decode(answer.content)
        assert {"/healthz", "/readyz", "/api/echo"} <= set(document["paths"])


async def undeclared(_request: Request) -> Response:
    return Response()


def test_an_app_with_an_undeclared_route_does_not_come_to_be() -> None:
    with pytest.raises(Undeclared, match="GET /secret-door"):
        create_app(make_site(log=RecordedLog()), [Route("/secret-door", undeclared)])


def test_everything_in_the_app_says_where_it_runs() -> None:
    kinds = {entry.kind for entry in declared_inventory()}
    assert kinds == {"route", "middleware", "error handler", "step", "job"}


async def test_a_session_keeps_a_visitor_out_of_shared_caches() -> None:
    async with open_site() as site:
        page = await site.browser.get("/login")
        assert "cookie" in page.headers["vary"]
        assert page.headers["cache-control"] == "private, no-cache"
