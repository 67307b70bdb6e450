"""Runs over the JSON API: created, approved, listed, looked at, changed."""

from collections.abc import AsyncIterator

import msgspec
import pytest

from rookery.core.model.run import DisplayState
from rookery.core.protocol import v1
from rookery.server.identity.users import Scope
from tests.makers import pairs
from tests.people import BORIS, OLGA, SVEN
from tests.submissions import SPRT, body
from tests.wire.apis import Api, Json, open_api

pytestmark = pytest.mark.anyio

GONE = "f" * 24


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with open_api() as opened:
        yield opened


async def details(api: Api, run_id: str) -> v1.RunDetails:
    answer = await api.get(f"/api/v1/runs/{run_id}")
    assert answer.status_code == 200, answer.text
    return msgspec.json.decode(answer.content, type=v1.RunDetails)


async def listed(api: Api, query: str = "") -> list[str]:
    answer = await api.get(f"/api/v1/runs{query}")
    assert answer.status_code == 200, answer.text
    return [run.id for run in msgspec.json.decode(answer.content, type=v1.RunList).runs]


async def test_a_run_is_created_and_waits_for_approval(api: Api) -> None:
    answer = await api.post("/api/v1/runs", OLGA, body(sprt=SPRT))
    made = msgspec.json.decode(answer.content, type=v1.CreatedRun)
    assert (answer.status_code, made.state, made.warnings) == (201, DisplayState.PENDING, ())
    found = await details(api, made.id)
    assert (found.owner, found.approver, found.args["sprt"]["elo1"]) == ("olga", "", SPRT["elo1"])


async def test_an_approvers_run_is_approved_at_once_and_again_without_error(api: Api) -> None:
    run_id = await api.submitted(BORIS)
    assert (await details(api, run_id)).state is DisplayState.PAUSED
    assert (await api.post(f"/api/v1/runs/{run_id}/approve", BORIS)).status_code == 200


async def test_with_cross_approval_another_one_has_to_look() -> None:
    async with open_api(cross_approval=True) as api:
        run_id = await api.submitted(BORIS)
        assert (await details(api, run_id)).state is DisplayState.PENDING
        refused = await api.post(f"/api/v1/runs/{run_id}/approve", BORIS)
        assert refused.status_code == 403
        assert "you can't approve your own run" in refused.text.lower()


async def test_a_token_that_is_not_for_approving_approves_nothing(api: Api) -> None:
    token = await api.token(BORIS, frozenset({Scope.SUBMIT}))
    headers = {"authorization": f"Bearer {token}"}
    answer = await api.visitor.post("/api/v1/runs", json=body(), headers=headers)
    run_id = msgspec.json.decode(answer.content, type=v1.CreatedRun).id
    assert (await details(api, run_id)).approver == ""
    refused = await api.visitor.post(f"/api/v1/runs/{run_id}/approve", headers=headers)
    assert refused.status_code == 403


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Bearer rk_nothing"},
        {"authorization": "Bearer"},
        {"authorization": "Basic b2xnYTpwdw=="},
    ],
)
async def test_without_a_valid_token_nothing_is_created(api: Api, headers: dict[str, str]) -> None:
    answer = await api.visitor.post("/api/v1/runs", json=body(), headers=headers)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"


async def test_a_bad_token_is_refused_also_where_none_is_needed(api: Api) -> None:
    headers = {"authorization": "Bearer rk_nothing"}
    assert (await api.visitor.get("/api/v1/runs", headers=headers)).status_code == 401


async def test_a_worker_token_is_for_nothing_here(api: Api) -> None:
    token = await api.token(OLGA, frozenset({Scope.WORKER}))
    headers = {"authorization": f"Bearer {token}"}
    answer = await api.visitor.post("/api/v1/runs", json=body(), headers=headers)
    assert answer.status_code == 403


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"num_games": 7}, "num_games"),
        ({"resolved_new": None}, "new_tag"),
        ({"new_options": "Hash"}, "new_options"),
        ({"nonsense": 1}, "nonsense"),
        ({"tc": None}, "tc"),
    ],
)
async def test_a_bad_submission_is_told_which_field(
    api: Api, changes: dict[str, object], named: str
) -> None:
    answer = await api.post("/api/v1/runs", OLGA, body(**changes))
    assert answer.status_code == 400
    assert named in answer.text


async def test_what_is_no_json_is_refused(api: Api) -> None:
    headers = dict(await api.headers(OLGA))
    for content in (b"", b"{", b"[]", b"\xff"):
        answer = await api.visitor.post("/api/v1/runs", content=content, headers=headers)
        assert answer.status_code == 400


async def test_runs_are_listed_by_state_and_owner(api: Api) -> None:
    pending, playing = await api.submitted(OLGA), await api.submitted(BORIS)
    api.clock.move(seconds=1)
    newest = await api.submitted(BORIS)
    assert await listed(api) == [newest, *sorted((pending, playing), reverse=True)]
    assert await listed(api, "?state=pending") == [pending]
    assert await listed(api, "?owner=olga&state=unfinished") == [pending]
    assert await listed(api, "?size=1&page=1") == [newest]
    await api.post(f"/api/v1/runs/{newest}/stop", BORIS)
    assert await listed(api, "?state=finished") == [newest]


@pytest.mark.parametrize("query", ["state=odd", "page=0", "page=x", "size=9999", "owner=%01"])
async def test_a_bad_query_is_refused(api: Api, query: str) -> None:
    assert (await api.get(f"/api/v1/runs?{query}")).status_code == 400


async def test_games_count_and_elo_is_told(api: Api) -> None:
    run_id = await api.submitted(BORIS)
    task = await api.granted()
    await api.played(task, pairs(ld=2, even=10, wd=4))
    found = await details(api, run_id)
    assert (found.results.wins, found.workers, found.state) == (4, 1, DisplayState.ACTIVE)
    assert found.elo
    assert found.live_elo
    assert found.elo.elo > 0
    assert found.live_elo.llr == found.llr


async def test_an_unknown_run_is_not_found(api: Api) -> None:
    for path in (f"/api/v1/runs/{GONE}", f"/api/v1/runs/{GONE}/summary.txt", "/api/v1/runs/x"):
        assert (await api.get(path)).status_code == 404
    for move in ("approve", "stop", "modify", "purge", "delete", "restore"):
        assert (await api.post(f"/api/v1/runs/{GONE}/{move}", BORIS)).status_code == 404


async def test_a_stranger_may_change_nothing(api: Api) -> None:
    run_id = await api.submitted(OLGA)
    for move in ("approve", "stop", "modify", "delete", "restore"):
        answer = await api.post(f"/api/v1/runs/{run_id}/{move}", SVEN)
        assert (move, answer.status_code) == (move, 403)


async def test_an_owner_modifies_stops_deletes_and_restores(api: Api) -> None:
    run_id = await api.submitted(OLGA)
    path = f"/api/v1/runs/{run_id}"
    changed = await api.post(f"{path}/modify", OLGA, {"priority": -1, "info": "slow"})
    assert changed.status_code == 200, changed.text
    found = await details(api, run_id)
    assert (found.priority, found.info) == (-1, "slow")
    assert (await api.post(f"{path}/stop", OLGA, {"message": "enough"})).status_code == 200
    assert (await api.post(f"{path}/delete", OLGA)).status_code == 200
    assert await listed(api, "?state=finished") == []
    assert (await api.post(f"{path}/restore", OLGA)).status_code == 200
    assert await listed(api, "?state=finished") == [run_id]


async def test_a_bad_modification_is_refused(api: Api) -> None:
    run_id = await api.submitted(OLGA)
    wishes: tuple[Json, ...] = ({"num_games": 7}, {"priority": "high"}, {"games": 1000})
    for wish in wishes:
        answer = await api.post(f"/api/v1/runs/{run_id}/modify", OLGA, wish)
        assert answer.status_code == 400


async def test_a_purge_waits_for_the_end(api: Api) -> None:
    run_id = await api.submitted(BORIS)
    assert (await api.post(f"/api/v1/runs/{run_id}/purge", BORIS)).status_code == 409


async def test_a_purge_takes_out_what_crashed(api: Api) -> None:
    run_id = await api.submitted(BORIS)
    task = await api.granted()
    await api.played(task, pairs(even=16, crashes=5))
    await api.post(f"/api/v1/runs/{run_id}/stop", BORIS)
    answer = await api.post(f"/api/v1/runs/{run_id}/purge", BORIS)
    purged = msgspec.json.decode(answer.content, type=v1.PurgeAnswer)
    assert (purged.tasks, purged.games) == (1, 32)


async def test_the_summary_comes_in_both_house_styles(api: Api) -> None:
    run_id = await api.submitted(BORIS)
    fishtest = await api.get(f"/api/v1/runs/{run_id}/summary.txt")
    assert fishtest.headers["content-type"] == "text/plain; charset=utf-8"
    assert fishtest.text.startswith("LLR: 0.00 (-2.94,2.94) <0.00,2.00>\nTotal: 0 ")
    openbench = await api.get(f"/api/v1/runs/{run_id}/summary.txt?style=openbench")
    assert openbench.text.startswith("SPRT  | 10.0+0.10s Threads=1 Hash=16MB\nLLR   | 0.00 ")
    assert (await api.get(f"/api/v1/runs/{run_id}/summary.txt?style=x")).status_code == 400


async def test_an_approval_is_taken_back_by_an_approver_alone(api: Api) -> None:
    run_id = await api.submitted(BORIS)
    assert (await api.post(f"/api/v1/runs/{run_id}/withdraw", OLGA)).status_code == 403
    taken = await api.post(f"/api/v1/runs/{run_id}/withdraw", BORIS)
    assert (taken.status_code, taken.json()["state"]) == (200, "pending")
    again = await api.post(f"/api/v1/runs/{run_id}/withdraw", BORIS)
    assert again.status_code == 200


async def test_a_stopped_run_is_reopened_by_its_owner(api: Api) -> None:
    run_id = await api.submitted(OLGA)
    await api.post(f"/api/v1/runs/{run_id}/stop", OLGA)
    assert (await api.post(f"/api/v1/runs/{run_id}/reopen", SVEN)).status_code == 403
    opened = await api.post(f"/api/v1/runs/{run_id}/reopen", OLGA)
    assert (opened.status_code, opened.json()["state"]) == (200, "pending")
    assert run_id in await listed(api)


async def test_a_run_that_is_over_has_no_approval_to_take_back(api: Api) -> None:
    run_id = await api.submitted(BORIS)
    await api.post(f"/api/v1/runs/{run_id}/stop", BORIS)
    assert (await api.post(f"/api/v1/runs/{run_id}/withdraw", BORIS)).status_code == 409
