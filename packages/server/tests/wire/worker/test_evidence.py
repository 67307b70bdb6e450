"""Games that were uploaded and logs that were sent, as they are read afterwards."""

import gzip
from base64 import b64encode
from collections.abc import AsyncIterator

import msgspec
import pytest

from rookery.core.protocol import v1_insights
from rookery.server.identity.users import Scope, User
from tests.people import BORIS, OLGA, SVEN
from tests.wire.apis import Api, open_api
from tests.wire.worker.farm import Worker, worker_info

pytestmark = pytest.mark.anyio

WORKER = frozenset({Scope.WORKER})
UPLOAD = b'[Event "x"]\n[White "New-a"]\n[Result "1-0"]\n[PlyCount "61"]\n\n1. e4 1-0\n'


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with open_api() as opened:
        yield opened


async def seated(api: Api, owner: User = OLGA) -> Worker:
    """A worker of Sven's with a task of the owner's run."""
    run_id = await api.submitted(owner)
    await api.post(f"/api/v1/runs/{run_id}/approve", BORIS)
    worker = Worker(api.visitor, worker_info(SVEN.name), await api.token(SVEN, WORKER))
    assert "run" in await worker.request_task()
    return worker


async def logs_of(api: Api, worker: Worker, reader: User) -> tuple[v1_insights.LogEntry, ...]:
    answer = await api.get(f"/api/v1/logs?run={worker.ids['run_id']}", reader)
    assert answer.status_code == 200, answer.text
    return msgspec.json.decode(answer.content, type=v1_insights.LogList).logs


async def test_uploaded_games_are_listed(api: Api) -> None:
    worker = await seated(api)
    await worker.call("upload_pgn", pgn=b64encode(gzip.compress(UPLOAD)).decode(), message="")
    query = f"run={worker.ids['run_id']}&task={worker.ids['task_id']}"
    answer = await api.get(f"/api/v1/games?{query}")
    (game,) = msgspec.json.decode(answer.content, type=v1_insights.GameList).games
    assert (game.outcome, game.plies, game.new_is_white) == ("white", 61, True)


async def test_the_log_of_a_failure_is_read_by_owner_and_approver(api: Api) -> None:
    worker = await seated(api)
    log = "make: *** [all] Error 2\n" * 1000
    await worker.call("failed_task", message="no build", rookery={"log": log})
    for reader in (OLGA, BORIS):
        (entry,) = await logs_of(api, worker, reader)
        assert (entry.call, entry.size) == ("failed_task", len(log))
        assert (await api.get(f"/api/v1/logs/{entry.id}", reader)).text == log


async def test_a_stranger_reads_no_log(api: Api) -> None:
    worker = await seated(api)
    await worker.call("failed_task", message="no build", rookery={"log": "secret paths"})
    run = worker.ids["run_id"]
    assert (await api.get(f"/api/v1/logs?run={run}", SVEN)).status_code == 403
    assert (await api.get("/api/v1/logs/1", SVEN)).status_code == 403
    assert (await api.get("/api/v1/logs/1")).status_code == 401


async def test_a_failure_that_is_told_twice_is_kept_once(api: Api) -> None:
    worker = await seated(api)
    for _ in range(2):
        await worker.call("failed_task", message="no build", rookery={"log": "once"})
    assert len(await logs_of(api, worker, OLGA)) == 1


async def test_logs_come_with_complaints_and_words_too(api: Api) -> None:
    worker = await seated(api)
    await worker.call("worker_log", message="slow", rookery={"log": "long words"})
    await worker.call("stop_run", message="wrong bench", rookery={"log": "bench log"})
    calls = [entry.call for entry in await logs_of(api, worker, OLGA)]
    assert calls == ["stop_run", "worker_log"]


async def test_a_chatty_machine_does_not_fill_the_disk(api: Api) -> None:
    worker = await seated(api)
    for number in range(10):
        await worker.call("worker_log", message="slow", rookery={"log": str(number)})
    assert len(await logs_of(api, worker, OLGA)) == 8
