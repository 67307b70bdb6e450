"""What belongs to a private engine is found by its team, and by nobody else, at any address."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from starlette.responses import Response
from starlette.routing import Route

from rookery.server.identity.users import User
from tests.people import BORIS, OLGA, SVEN
from tests.submissions import body
from tests.twins.sites import PASSWORD
from tests.wire.apis import Api, open_api
from tests.wire.secrets.plants import (
    BOOK,
    ENGINE,
    TEAM,
    Packer,
    Planted,
    planted,
    with_password,
    worker_of,
)
from tests.wire.secrets.walk import Asked, Walk, paths_of
from tests.wire.test_login import log_in
from tests.wire.worker.farm import PATHS

pytestmark = pytest.mark.anyio


@dataclass(frozen=True, slots=True)
class Scene:
    """A site on which a private engine is tested."""

    api: Api
    planted: Planted

    def walk(self, headers: Mapping[str, str] | None = None) -> Walk:
        return Walk(self.api.app, self.planted, headers or {})

    async def by_token(self, user: User) -> Walk:
        return self.walk(await self.api.headers(user))

    async def by_session(self, user: User) -> Walk:
        await with_password(self.api, user)
        transport = httpx.ASGITransport(self.api.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as browser:
            assert (await log_in(browser, username=user.name)).status_code == 302
            cookies = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
        return self.walk({"cookie": cookies})


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    async with open_api(files=tmp_path, archiver=Packer(tmp_path)) as api:
        yield Scene(api, await planted(api))


async def test_a_stranger_finds_nothing(scene: Scene) -> None:
    assert await scene.walk().leaks() == {}


async def test_who_is_not_in_the_team_finds_nothing(scene: Scene) -> None:
    assert await (await scene.by_token(SVEN)).leaks() == {}


async def test_an_approver_finds_the_team_and_does_nothing_to_its_runs(scene: Scene) -> None:
    found = await (await scene.by_token(BORIS)).leaks()
    assert {place: told for place, told in found.items() if told != {TEAM}} == {}
    live, over = [await scene.api.fleet.views.known_run(run_id) for run_id in scene.planted.runs]
    assert not live.status.finished
    assert not over.status.deleted


async def test_who_is_logged_in_and_not_in_the_team_finds_nothing(scene: Scene) -> None:
    assert await (await scene.by_session(SVEN)).leaks() == {}


EVER_NEW = frozenset({"/ask", "/login", "/login/reset", "/signup", "/metrics"})
"""Forms with a token that is made anew each time, and counts."""
NEVER = "0123456789abcdef01234567"


async def test_what_is_hidden_is_answered_as_what_never_was(scene: Scene) -> None:
    walk, runs = await scene.by_token(SVEN), scene.planted.runs
    named = []
    for calls in (walk.reads(), walk.changes()):
        named += [asked for asked in calls if asked.about(runs[0], NEVER) != asked]
        # The list is the test's own work, and the loop has other things to do.
        await asyncio.sleep(0)
    for asked, hidden in await walk.ask_all(named):
        never = await walk.ask(asked.about(runs[0], NEVER))
        assert hidden.status == never.status, asked
        if asked.path not in EVER_NEW:
            assert hidden.about(runs[0], NEVER) == never.about(NEVER, NEVER), asked


async def test_a_member_finds_every_secret_so_that_the_walk_is_known_to_look(
    scene: Scene,
) -> None:
    walk, secrets = await scene.by_token(OLGA), set(scene.planted.secrets)
    for _, heard in await walk.ask_all(walk.reads()):
        secrets -= {secret for secret in secrets if heard.holds(secret)}
    assert secrets == set()


async def test_the_worker_of_a_stranger_hears_nothing(scene: Scene) -> None:
    await with_password(scene.api, SVEN)
    worker, secrets = worker_of(scene.api, SVEN, "abcdef01"), scene.planted.secrets
    for run_id in scene.planted.runs:
        worker.ids = {"run_id": run_id, "task_id": 0}
        for path in PATHS:
            answer = await worker.send(path, worker.body(**worker.ids))
            heard = answer.text.replace(run_id, "")
            assert not [secret for secret in secrets if secret in heard], path


ARCHIVE = "/src/{name}/zipball/{sha}"


async def test_a_stranger_can_make_no_run_with_what_is_hidden(scene: Scene) -> None:
    api, never = scene.api, {"new_engine": "nobody", "base_engine": "nobody"}
    unknown = await api.post("/api/v1/runs", SVEN, body(**never))
    hidden = await api.post("/api/v1/runs", SVEN, body(new_engine=ENGINE, base_engine=ENGINE))
    assert (hidden.status_code, unknown.status_code) == (400, 400)
    assert said(hidden) == said(unknown)
    for field, value in (("book", BOOK), ("new_binary", scene.planted.program)):
        refused = await api.post("/api/v1/runs", SVEN, body(**{field: value}))
        assert refused.status_code == 400, field


def said(answer: httpx.Response) -> str:
    return str(answer.json()["error"])


async def test_a_worker_of_a_member_fetches_what_it_plays_with(scene: Scene) -> None:
    places = ("/api/nn/{name}", "/api/book/{name}", "/api/binary/{sha256}", ARCHIVE)
    for pattern in places:
        (path,) = paths_of(pattern, scene.planted)
        fetched = await scene.api.visitor.get(path, auth=(OLGA.name, PASSWORD))
        assert fetched.status_code == 200, path
        refused = await scene.api.visitor.get(path, auth=(OLGA.name, "wrong"))
        assert refused.status_code == 401


async def test_a_route_the_walk_has_no_words_for_fails_it(scene: Scene) -> None:
    async def endpoint(_: object) -> Response:
        return Response()

    scene.api.app.router.routes.append(Route("/new/{unheard_of}", endpoint))
    with pytest.raises(AssertionError, match="teach the walk"):
        list(scene.walk().reads())


async def test_a_secret_that_leaks_is_noticed(scene: Scene) -> None:
    walk = await scene.by_token(OLGA)
    assert "GET /api/active_runs?" in await walk.leaks_of([Asked("GET", "/api/active_runs")])
