"""Machines over the JSON API: looked at, with their last words, blocked and let back in."""

from collections.abc import AsyncIterator

import httpx
import pytest

from rookery.core.model.machine import Machine
from rookery.server.farm.rules.answers import HeldTask, NoTask
from rookery.server.identity.users import Scope, User
from tests.eventually import eventually
from tests.makers import make_machine, restarted
from tests.people import BORIS, OLGA, SVEN
from tests.wire.apis import Api, Json, open_api
from tests.wire.secrets.plants import with_password
from tests.wire.worker.farm import Worker, worker_info

pytestmark = pytest.mark.anyio

WORKERS = "/api/v1/workers"
OLGAS = make_machine(user="olga")
NAME = OLGAS.short_name
REASON: Json = {"message": "bad memory"}


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with open_api() as opened:
        yield opened


async def ask(api: Api, machine: Machine = OLGAS) -> object:
    return await api.fleet.request_task(machine, limit=100)


async def block(api: Api, user: User, name: str = NAME, wish: Json = REASON) -> httpx.Response:
    return await api.post(f"{WORKERS}/{name}/block", user, wish)


async def test_an_owner_blocks_a_machine_of_theirs_and_lets_it_back_in(api: Api) -> None:
    await api.submitted(BORIS)
    await ask(api)
    blocked = await block(api, OLGA)
    assert (blocked.status_code, blocked.json()["message"]) == (200, "bad memory")
    refused = await ask(api, restarted(OLGAS))
    assert "bad memory" in str(refused)
    freed = await api.post(f"{WORKERS}/{NAME}/unblock", OLGA)
    assert (freed.status_code, freed.json()["blocked"]) == (200, False)
    assert "bad memory" not in str(await ask(api, restarted(OLGAS)))


async def test_an_approver_blocks_any_machine(api: Api) -> None:
    assert (await block(api, BORIS)).status_code == 200
    assert await api.fleet.views.blocks() == {NAME: "bad memory"}


async def test_an_owner_lifts_or_changes_no_block_of_an_approver(api: Api) -> None:
    await ask(api)
    await block(api, OLGA)
    await block(api, BORIS)
    for answer in (
        await api.post(f"{WORKERS}/{NAME}/unblock", OLGA),
        await block(api, OLGA, wish={"message": "nothing"}),
    ):
        assert (answer.status_code, "only an approver" in answer.text) == (403, True)
    assert await api.fleet.views.blocks() == {NAME: "bad memory"}
    assert (await api.post(f"{WORKERS}/{NAME}/unblock", BORIS)).status_code == 200


async def test_a_block_of_an_approver_outlives_a_loss_as_that(api: Api) -> None:
    await block(api, BORIS)
    api.fleet.primary.lost("on purpose")
    await eventually(lambda: api.fleet.primary.is_serving)
    assert (await api.post(f"{WORKERS}/{NAME}/unblock", OLGA)).status_code == 403


async def test_others_block_nothing_and_learn_nothing(api: Api) -> None:
    await ask(api)
    known, unknown = await block(api, SVEN), await block(api, SVEN, "olga-4cores-abcdef01")
    assert (known.status_code, unknown.status_code) == (403, 403)
    assert (await api.visitor.post(f"{WORKERS}/{NAME}/block", json=REASON)).status_code == 401
    headers = {"authorization": f"Bearer {await api.token(OLGA, frozenset({Scope.READ}))}"}
    read = await api.visitor.post(f"{WORKERS}/{NAME}/block", json=REASON, headers=headers)
    assert read.status_code == 403


async def test_an_owner_fills_no_list_with_names_of_nothing(api: Api) -> None:
    assert (await block(api, OLGA)).status_code == 404
    for nonsense in ("olga", "olga-4cores-", "olga-x-y"):
        assert (await block(api, BORIS, nonsense)).status_code == 404
    assert await api.fleet.views.blocks() == {}


@pytest.mark.parametrize("wish", [{}, {"message": ""}, {"message": "x" * 501}, {"why": "x"}])
async def test_a_block_takes_a_reason(api: Api, wish: Json) -> None:
    assert (await api.post(f"{WORKERS}/{NAME}/block", BORIS, wish)).status_code == 400


async def test_a_block_is_told_once(api: Api) -> None:
    for _ in range(2):
        await block(api, BORIS)
    await api.post(f"{WORKERS}/{NAME}/unblock", BORIS)
    told = (await api.get("/api/v1/actions?action=block_worker")).json()["actions"]
    assert [line["message"] for line in told] == ["unblocked", "blocked"]
    assert "bad memory" not in str(told)


async def test_a_machines_last_words_are_found_over_restarts(api: Api) -> None:
    await api.submitted(BORIS)
    task = await api.granted(OLGAS)
    await api.fleet.fail_task(HeldTask(task.run, task.id, OLGAS), "no compiler")
    api.clock.move(seconds=5)
    await api.fleet.log_message(restarted(OLGAS), "disk full")
    await api.fleet.log_message(make_machine("n", user="olga"), "somebody else")
    shown = (await api.get(f"{WORKERS}/{NAME}", OLGA)).json()
    assert [(word["action"], word["message"]) for word in shown["words"]] == [
        ("worker_log", "disk full"),
        ("failed_task", "no compiler"),
    ]


async def test_an_idle_machine_is_shown_to_its_owner_and_to_approvers(api: Api) -> None:
    assert isinstance(await ask(api), NoTask)
    for user, status in ((None, 404), (SVEN, 404), (OLGA, 200), (BORIS, 200)):
        answer = await api.get(f"{WORKERS}/{NAME}", user)
        assert answer.status_code == status, user
        if status == 200:
            assert (answer.json()["cores"], "asked" in answer.json()) == (4, True)


async def test_a_machine_at_play_is_shown_to_all_without_when_it_asked(api: Api) -> None:
    run_id = await api.submitted(BORIS)
    await api.granted(OLGAS)
    shown = (await api.get(f"{WORKERS}/{NAME}")).json()
    assert (shown["run"], "asked" in shown) == (run_id, False)


async def test_a_machine_that_nobody_knows_is_not_found(api: Api) -> None:
    for user in (None, OLGA, BORIS):
        assert (await api.get(f"{WORKERS}/{NAME}", user)).status_code == 404


async def test_the_processors_name_is_shown_where_a_worker_tells_it(api: Api) -> None:
    await with_password(api, OLGA)
    await api.submitted(BORIS)
    ours = Worker(api.visitor, worker_info("olga", "aaaaaaaa", rookery={"cpu": "AMD  EPYC 7B12"}))
    official = Worker(api.visitor, worker_info("olga", "bbbbbbbb", uname="Linux 6.1"))
    for worker in (ours, official):
        await worker.request_task()
    first, second = (await api.get(WORKERS)).json()["workers"]
    assert (first["cpu"], second["cpu"]) == ("AMD EPYC 7B12", "")
    assert (second["system"], second["compiler"]) == ("Linux 6.1", "g++")
    (task, _) = await api.fleet.views.task_page(first["run"], 0, 2)
    assert task.machine.claimed.cpu == "AMD  EPYC 7B12"
