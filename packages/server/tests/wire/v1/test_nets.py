"""Nets that programs give: packed as they come, named by their hash, kept once."""

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from rookery.server.identity.users import User
from tests.people import BORIS, OLGA, SVEN
from tests.submissions import body
from tests.wire.apis import Api, Json, open_api

pytestmark = pytest.mark.anyio

WEIGHTS = bytes(range(256)) * 10_000
HASH = hashlib.sha256(WEIGHTS).hexdigest()
NAME = f"nn-{HASH[:12]}.nnue"


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Api]:
    async with open_api(files=tmp_path) as opened:
        yield opened


async def give(api: Api, name: str = NAME, content: bytes = WEIGHTS) -> httpx.Response:
    headers = dict(await api.headers(OLGA))
    path = f"/api/v1/nets?name={name}"
    return await api.visitor.post(path, content=content, headers=headers)


async def test_a_net_comes_back_as_it_was_given(api: Api) -> None:
    given = await give(api)
    assert (given.status_code, given.json()["name"]) == (201, NAME)
    fetched = await api.get(f"/api/nn/{NAME}")
    assert fetched.headers["content-encoding"] == "gzip"
    assert fetched.content == WEIGHTS
    assert int(fetched.headers["content-length"]) == given.json()["size"] < len(WEIGHTS)


async def test_a_net_of_any_name_goes_by_its_hash(api: Api) -> None:
    assert (await give(api, "my-net.bin")).json()["name"] == f"{HASH}.bin"


async def test_the_same_net_is_kept_once(api: Api, tmp_path: Path) -> None:
    first, second = await give(api), await give(api)
    assert first.json() == second.json()
    files = await api.site.threads.io(lambda: [p for p in tmp_path.rglob("*") if p.is_file()])
    assert len(files) == 1


@pytest.mark.parametrize(("name", "content"), [("nn-000000000000.nnue", WEIGHTS), (NAME, b"")])
async def test_what_is_not_what_its_name_tells_is_refused(
    api: Api, name: str, content: bytes
) -> None:
    assert (await give(api, name, content)).status_code == 400
    assert (await api.get("/api/v1/nets")).json() == {"nets": []}


async def test_nets_are_listed_but_for_those_of_others(api: Api) -> None:
    await api.post("/api/v1/teams", OLGA, {"name": "owls"})
    strix = {"name": "owls~Strix", "team": "owls", "private": True}
    headers = dict(await api.headers(OLGA))
    await api.visitor.put("/api/v1/engines/owls~Strix", json=strix, headers=headers)
    assert (await give(api, f"{NAME}&engine=owls~Strix")).status_code == 201
    for user, seen in ((None, 0), (SVEN, 0), (OLGA, 1)):
        assert len((await api.get("/api/v1/nets", user)).json()["nets"]) == seen
        told = (await api.get("/api/v1/actions?action=upload_nn", user)).json()["actions"]
        assert [each["net"] for each in told] == [NAME] * seen


async def test_a_run_whose_net_is_not_here_is_warned_about(api: Api) -> None:
    warning = f"nets: {NAME} is not kept here"
    made = await api.post("/api/v1/runs", BORIS, body(new_nets=[NAME]))
    assert warning in made.json()["warnings"]
    await give(api)
    made = await api.post("/api/v1/runs", BORIS, body(new_nets=[NAME]))
    assert warning not in made.json()["warnings"]


async def remove(api: Api, user: User = OLGA, name: str = NAME) -> httpx.Response:
    return await api.visitor.delete(f"/api/v1/nets/{name}", headers=dict(await api.headers(user)))


async def test_a_net_is_removed_by_who_gave_it_with_its_file(api: Api, tmp_path: Path) -> None:
    await give(api)
    assert (await remove(api, SVEN)).status_code == 403
    assert (await remove(api)).status_code == 200
    assert (await api.get(f"/api/nn/{NAME}")).status_code == 404
    files = await api.site.threads.io(lambda: [p for p in tmp_path.rglob("*") if p.is_file()])
    assert files == []
    (line,) = (await api.get("/api/v1/actions?action=remove_nn")).json()["actions"]
    assert (line["actor"], line["net"]) == ("olga", NAME)
    assert (await remove(api)).status_code == 404


async def test_a_net_is_removed_by_an_approver(api: Api) -> None:
    await give(api)
    assert (await remove(api, BORIS)).status_code == 200


@pytest.mark.parametrize(
    "needs", [{"new_nets": [NAME]}, {"base_options": f"Hash=16 EvalFile={NAME}"}]
)
async def test_a_net_that_an_unfinished_run_needs_stays(api: Api, needs: Json) -> None:
    await give(api)
    run_id = await api.submitted(BORIS, **needs)
    refused = await remove(api)
    assert (refused.status_code, run_id in refused.text) == (409, False)
    await api.post(f"/api/v1/runs/{run_id}/stop", BORIS)
    assert (await remove(api)).status_code == 200


async def test_a_net_of_a_private_engine_is_removed_by_its_team_alone(api: Api) -> None:
    await api.post("/api/v1/teams", OLGA, {"name": "owls"})
    strix = {"name": "owls~Strix", "team": "owls", "private": True}
    headers = dict(await api.headers(OLGA))
    await api.visitor.put("/api/v1/engines/owls~Strix", json=strix, headers=headers)
    await give(api, f"{NAME}&engine=owls~Strix")
    assert (await remove(api, BORIS)).status_code == 404
    assert (await remove(api)).status_code == 200
    for user, seen in ((None, 0), (SVEN, 0), (OLGA, 1)):
        told = (await api.get("/api/v1/actions?action=remove_nn", user)).json()["actions"]
        assert len(told) == seen
