"""The user API: documents as fishtest's scripts know them."""

import json
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from rookery.core.model.machine import Machine
from tests.makers import pairs
from tests.people import BORIS, OLGA
from tests.unit.protocol.samples import WORKER_INFO
from tests.wire.apis import Api, open_api

pytestmark = pytest.mark.anyio

GONE = "f" * 24
KEY = str(WORKER_INFO["unique_key"])
TOLD = msgspec.convert({**WORKER_INFO, "address": "203.0.113.99", "country": "NO"}, Machine)
RUN_KEYS = {
    "_id", "version", "start_time", "last_updated", "tc_base", "approved", "approver", "finished",
    "deleted", "failed", "failures", "is_green", "is_yellow", "workers", "cores",
    "committed_games", "total_games", "results", "nps", "games_per_minute", "args",
}  # fmt: skip
ARGS_KEYS = {
    "base_tag", "new_tag", "base_nets", "new_nets", "num_games", "tc", "new_tc", "book",
    "book_depth", "threads", "resolved_base", "resolved_new", "msg_base", "msg_new",
    "base_options", "new_options", "info", "base_signature", "new_signature", "username",
    "tests_repo", "auto_purge", "throughput", "itp", "priority", "adjudication", "sprt",
}  # fmt: skip


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with open_api() as opened:
        yield opened


async def read(api: Api, path: str) -> Any:
    answer = await api.get(path)
    assert answer.status_code == 200, answer.text
    assert b"null" not in answer.content
    return json.loads(answer.content)


async def test_the_quota_says_that_nobody_has_asked_github_yet(api: Api) -> None:
    quota = await read(api, "/api/rate_limit")
    assert set(quota) == {"limit", "remaining", "reset", "used", "resource", "_uninitialized"}
    assert quota["_uninitialized"] is True


async def test_active_runs_are_all_that_are_not_finished(api: Api) -> None:
    pending, approved = await api.submitted(OLGA), await api.submitted(BORIS)
    found = await read(api, "/api/active_runs")
    assert set(found) == {pending, approved}
    assert set(found[approved]) == RUN_KEYS
    assert set(found[approved]["args"]) == ARGS_KEYS
    assert found[approved]["start_time"] == "2030-01-01 00:00:00.000000+00:00"


async def test_finished_runs_come_by_page_and_filter(api: Api) -> None:
    run_id = await api.submitted(OLGA)
    await api.post(f"/api/v1/runs/{run_id}/stop", OLGA)
    assert list(await read(api, "/api/finished_runs?page=1")) == [run_id]
    assert await read(api, "/api/finished_runs?page=2") == {}
    assert list(await read(api, "/api/finished_runs?page=1&username=olga")) == [run_id]
    for query in ("username=boris", "success_only=1", "ltc_only=0", "timestamp=2524608000"):
        assert await read(api, f"/api/finished_runs?page=1&{query}") == {}


@pytest.mark.parametrize("query", ["", "?page=0", "?page=x", "?page=1&timestamp=soon"])
async def test_a_bad_page_is_refused(api: Api, query: str) -> None:
    answer = await api.get(f"/api/finished_runs{query}")
    assert answer.status_code == 400
    assert set(json.loads(answer.content)) == {"error", "duration"}


async def test_get_run_has_empty_lists_and_is_open_to_other_sites(api: Api) -> None:
    run_id = await api.submitted()
    answer = await api.get(f"/api/get_run/{run_id}")
    document = json.loads(answer.content)
    assert set(document) == RUN_KEYS | {"tasks", "bad_tasks"}
    assert (document["tasks"], document["bad_tasks"]) == ([], [])
    assert answer.headers["access-control-allow-origin"] == "*"
    assert answer.headers["access-control-allow-headers"] == "content-type"


async def test_a_tune_is_shown_with_its_parameters(api: Api) -> None:
    spsa = {"raw_params": "A,10,0,20,1,0.002"}
    run_id = await api.submitted(sprt=None, spsa=spsa)
    shown = (await read(api, f"/api/get_run/{run_id}"))["args"]["spsa"]
    assert (shown["raw_params"], shown["iter"], shown["param_history"]) == (
        "A,10,0,20,1,0.002",
        0,
        [],
    )
    assert await read(api, f"/api/get_elo/{run_id}") == {}


async def test_a_task_is_shown_without_address_and_key(api: Api) -> None:
    run_id = await api.submitted()
    task = await api.granted(TOLD)
    shown = await read(api, f"/api/get_task/{run_id}/{task.id}")
    assert (shown["num_games"], shown["active"], shown["start"]) == (task.games, True, 0)
    info = shown["worker_info"]
    assert (info["unique_key"], info["remote_addr"]) == (KEY[:8] + "...", "?.?.?.?")
    assert (info["country_code"], info["uname"]) == ("NO", "Linux 6.8.0")


async def test_a_bad_task_shows_what_it_was(api: Api) -> None:
    run_id = await api.submitted()
    task = await api.granted()
    await api.played(task, pairs(even=16, crashes=5))
    await api.post(f"/api/v1/runs/{run_id}/stop", BORIS)
    await api.post(f"/api/v1/runs/{run_id}/purge", BORIS)
    bad = await read(api, f"/api/get_task/{run_id}/0bad")
    assert (bad["bad"], bad["task_id"], bad["residual"], bad["residual_color"]) == (
        True,
        task.id,
        10.0,
        "red",
    )
    assert bad["stats"]["crashes"] == 5
    assert (await read(api, f"/api/get_task/{run_id}/{task.id}"))["stats"]["crashes"] == 0


async def test_get_elo_is_the_document_with_an_estimate(api: Api) -> None:
    run_id = await api.submitted()
    await api.played(await api.granted(), pairs(ld=2, even=10, wd=4))
    document = await read(api, f"/api/get_elo/{run_id}")
    assert set(document["elo"]) == {"a", "b", "elo", "ci", "LOS", "LLR"}
    assert document["results"]["wins"] == 4


@pytest.mark.parametrize(
    "path",
    [
        f"/api/get_run/{GONE}",
        "/api/get_run/x",
        f"/api/get_elo/{GONE}",
        f"/api/get_task/{GONE}/0",
    ],
)
async def test_what_is_unknown_is_not_found(api: Api, path: str) -> None:
    answer = await api.get(path)
    assert answer.status_code == 404
    assert json.loads(answer.content)["error"].startswith(f"{path}: ")


async def test_an_unknown_task_is_not_found(api: Api) -> None:
    run_id = await api.submitted()
    for task, status in (("0", 404), ("0bad", 404), ("x", 400), ("-1", 400)):
        assert (await api.get(f"/api/get_task/{run_id}/{task}")).status_code == status


@pytest.mark.parametrize(
    ("query", "elo", "los"),
    [("W=10&D=20&L=10", 0.0, 0.5), ("LL=1&LD=2&DDWL=4&WD=2&WW=1", 0.0, 0.5)],
)
async def test_calc_elo_estimates(api: Api, query: str, elo: float, los: float) -> None:
    found = await read(api, f"/api/calc_elo?{query}")
    assert set(found) == {"elo", "ci", "LOS"}
    assert (round(found["elo"], 9), round(found["LOS"], 9)) == (elo, los)


async def test_calc_elo_judges_a_sequential_test(api: Api) -> None:
    query = "LL=10&LD=200&DDWL=500&WD=240&WW=14&elo0=0&elo1=2"
    found = await read(api, f"/api/calc_elo?{query}")
    assert set(found) == {"a", "b", "elo", "ci", "LOS", "LLR"}
    assert found["LLR"] == pytest.approx(0.492, abs=0.01)


@pytest.mark.parametrize(
    "query", ["", "W=1", "W=0&D=0&L=0", "W=1.5&D=1&L=1", "W=1&D=1&L=1&elo0=0&elo1=0.1"]
)
async def test_calc_elo_refuses_nonsense(api: Api, query: str) -> None:
    assert (await api.get(f"/api/calc_elo?{query}")).status_code == 400


async def actions(api: Api, content: bytes) -> list[dict[str, Any]]:
    answer = await api.visitor.post("/api/actions", content=content)
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == "*"
    found = json.loads(answer.content)
    assert isinstance(found, list)
    return found


async def test_actions_are_filtered_by_what_scripts_send(api: Api) -> None:
    run_id = await api.submitted(OLGA)
    (action,) = await actions(api, b'{"action":"new_run","username":"olga"}')
    assert (action["run_id"], action["action"], action["username"]) == (run_id, "new_run", "olga")
    assert await actions(api, b'{"time":{"$lt":1}}') == []


async def test_actions_are_found_by_a_pattern(api: Api) -> None:
    run_id = await api.submitted(OLGA)
    found = await actions(api, b'{"action":{"$regex":"^NEW_|_user$","$options":"i"}}')
    assert [action["run_id"] for action in found] == [run_id]
    assert await actions(api, b'{"action":{"$regex":"^run"}}') == []


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "JSON"),
        (b"[]", "object"),
        (b"{", "JSON"),
        (b'{"$where":"1"}', "unknown field or operator '$where'"),
        (b'{"email":"x"}', "unknown field or operator 'email'"),
        (b'{"message":{"$exists":true}}', "unknown operator '$exists'"),
        (b'{"message":{"$regex":"(a+)+$"}}', "a $regex of text"),
    ],
)
async def test_a_filter_that_cannot_be_used_is_refused_with_the_reason(
    api: Api, content: bytes, said: str
) -> None:
    await api.submitted(OLGA)
    answer = await api.visitor.post("/api/actions", content=content)
    assert (answer.status_code, said in answer.json()["error"]) == (400, True), answer.text


async def test_no_document_holds_an_address_a_key_or_an_email(api: Api) -> None:
    run_id = await api.submitted()
    task = await api.granted(TOLD)
    paths = (
        "active_runs",
        f"get_run/{run_id}",
        f"get_task/{run_id}/{task.id}",
        f"get_elo/{run_id}",
    )
    texts = [(await api.get(f"/api/{path}")).text for path in paths]
    texts.append(json.dumps(await actions(api, b"{}")))
    for secret in ("203.0.113.99", KEY, "@example.org"):
        assert not any(secret in text for text in texts), secret


async def test_head_works_wherever_get_does(api: Api) -> None:
    run_id = await api.submitted()
    for path in ("active_runs", "finished_runs?page=1", f"get_run/{run_id}", "rate_limit"):
        answer = await api.visitor.head(f"/api/{path}")
        assert (answer.status_code, answer.content) == (200, b"")
