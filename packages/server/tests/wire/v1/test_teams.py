"""Teams through the JSON API, and whose machines play a private engine."""

from collections.abc import AsyncIterator
from dataclasses import replace

import httpx
import msgspec
import pytest

from rookery.core.model.actor import Actor
from rookery.core.protocol import people, v1
from rookery.server.identity.passwords import Passwords
from rookery.server.identity.users import User
from tests.people import BORIS, OLGA, SVEN
from tests.twins.sites import PASSWORD
from tests.wire.apis import Api, Json, open_api
from tests.wire.secrets.plants import with_password
from tests.wire.test_login import log_in
from tests.wire.worker.farm import Worker, worker_info

pytestmark = pytest.mark.anyio

STRIX: Json = {"name": "owls~Strix", "team": "owls", "private": True}
NOT_HIDDEN: Json = {**STRIX, "name": "Strix", "private": False}


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with open_api() as opened:
        yield opened


async def put(api: Api, path: str, user: User, content: Json | None = None) -> httpx.Response:
    headers = dict(await api.headers(user))
    return await api.visitor.put(path, json=content or {}, headers=headers)


async def team(api: Api) -> None:
    made = await api.post("/api/v1/teams", OLGA, {"name": "owls"})
    assert made.status_code == 201


def entry(answer: httpx.Response) -> people.Team:
    return msgspec.json.decode(answer.content, type=people.Team)


async def test_a_team_is_made_joined_and_left(api: Api) -> None:
    await team(api)
    assert (await api.post("/api/v1/teams", SVEN, {"name": "owls"})).status_code == 409
    joined = await put(api, "/api/v1/teams/owls/members/sven", OLGA)
    assert entry(joined).members == ("olga", "sven")
    assert entry(await api.get("/api/v1/teams/owls", SVEN)).leads == ("olga",)
    headers = dict(await api.headers(SVEN))
    left = await api.visitor.delete("/api/v1/teams/owls/members/sven", headers=headers)
    assert entry(left).members == ("olga",)
    assert (await api.get("/api/v1/teams/owls", SVEN)).status_code == 404
    listed = await api.get("/api/v1/teams", SVEN)
    assert msgspec.json.decode(listed.content, type=people.TeamList).teams == ()


async def test_what_makes_no_team_is_refused(api: Api) -> None:
    assert (await api.post("/api/v1/teams", OLGA, {"name": "-"})).status_code == 400
    assert (await api.visitor.get("/api/v1/teams")).status_code == 401
    await team(api)
    assert (await put(api, "/api/v1/teams/owls/members/nobody", OLGA)).status_code == 404
    assert (await put(api, "/api/v1/teams/owls/members/sven", SVEN)).status_code == 404
    assert (await put(api, "/api/v1/teams/owls/members/boris", BORIS)).status_code == 200


async def test_members_write_their_engines(api: Api) -> None:
    await team(api)
    assert (await put(api, "/api/v1/engines/owls~Strix", SVEN, STRIX)).status_code == 403
    assert (await put(api, "/api/v1/engines/owls~Strix", OLGA, STRIX)).status_code == 201


async def test_only_machines_of_members_play_a_private_engine(api: Api) -> None:
    await team(api)
    await put(api, "/api/v1/teams/owls/members/boris", OLGA)
    await put(api, "/api/v1/engines/owls~Strix", OLGA, STRIX)
    await api.submitted(BORIS, new_engine="owls~Strix", base_engine="owls~Strix")
    stranger, member = await worker(api, SVEN), await worker(api, OLGA)
    refused = await stranger.request_task()
    assert set(refused) == {"task_waiting", "duration"}
    assert "run" in await member.request_task()
    await put(api, "/api/v1/teams/owls/members/sven", OLGA)
    assert "run" in await stranger.request_task()


async def worker(api: Api, user: User) -> Worker:
    """A machine of ours, with the password of its owner."""
    await api.site.users.save(replace(user, password_hash=await hashed(api)))
    info = worker_info(user.name, key=user.name.encode().hex()[:8], rookery={"os": "linux"})
    return Worker(api.visitor, info)


async def hashed(api: Api) -> str:
    return await Passwords(api.site.threads, api.clock, b"key").hash(PASSWORD)


async def test_a_run_that_plays_again_after_its_engine_became_private_is_for_the_team(
    api: Api,
) -> None:
    await team(api)
    await put(api, "/api/v1/engines/Strix", BORIS, NOT_HIDDEN)
    run_id = await api.submitted(BORIS, new_engine="Strix", base_engine="Strix")
    await api.post(f"/api/v1/runs/{run_id}/stop", BORIS)
    await put(api, "/api/v1/engines/Strix", BORIS, {**NOT_HIDDEN, "private": True})
    await api.fleet.commands.reopen(run_id, Actor("boris", approver=True))
    stranger, member = await worker(api, SVEN), await worker(api, OLGA)
    assert "run" not in await stranger.request_task()
    assert "run" in await member.request_task()


async def log_of(api: Api, user: User | None = None) -> list[tuple[str, str]]:
    answer = await api.get("/api/v1/actions", user)
    found = msgspec.json.decode(answer.content, type=v1.ActionList).actions
    both = [each for each in await scripts_log(api, user) if "team" in each or "engine" in each]
    assert len(both) == len(found)
    return [(each.action, str(each.message or "")) for each in reversed(found)]


async def scripts_log(api: Api, user: User | None) -> list[Json]:
    headers = dict(await api.headers(user)) if user else {}
    answer = await api.visitor.post("/api/actions", content=b"{}", headers=headers)
    return [dict(each) for each in answer.json()]


async def test_the_log_tells_of_teams_and_engines_those_who_may_know(api: Api) -> None:
    await team(api)
    await put(api, "/api/v1/engines/owls~Strix", OLGA, STRIX)
    await put(api, "/api/v1/engines/owls~Strix", OLGA, {**STRIX, "source": "https://example.org/x"})
    assert await log_of(api) == await log_of(api, SVEN) == []
    made, given = ("new_team", ""), ("give_engine", "given")
    wrote = [("new_engine", ""), given, ("modify_engine", "source")]
    assert await log_of(api, OLGA) == [made, *wrote]
    assert await log_of(api, BORIS) == [made]


async def test_an_engine_that_changes_hands_is_told_to_each_team_by_itself(api: Api) -> None:
    await team(api)
    await api.post("/api/v1/teams", OLGA, {"name": "crows"})
    await put(api, "/api/v1/engines/Strix", OLGA, {"name": "Strix", "team": "owls"})
    await put(api, "/api/v1/engines/Strix", OLGA, {"name": "Strix", "team": "crows"})
    await api.visitor.delete("/api/v1/engines/Strix", headers=dict(await api.headers(OLGA)))
    lines = await scripts_log(api, OLGA)
    teams = [(each["team"], each["message"]) for each in lines if each["action"] == "give_engine"]
    assert teams == [("crows", "given"), ("owls", "taken"), ("owls", "given")]
    assert [each[0] for each in await log_of(api, SVEN)] == ["new_engine", "remove_engine"]


@pytest.mark.parametrize(("user", "seen"), [(BORIS, 1), (SVEN, 0)])
async def test_an_approver_who_is_logged_in_reads_of_teams_in_the_log(
    api: Api, user: User, seen: int
) -> None:
    await team(api)
    await with_password(api, user)
    assert (await log_in(api.visitor, username=user.name)).status_code == 302
    assert len((await api.visitor.get("/api/v1/actions?action=new_team")).json()["actions"]) == seen
