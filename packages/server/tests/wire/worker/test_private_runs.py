"""To workers of others, a private run is as unknown as one that does not exist."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

import pytest

from tests.makers import pairs, run_id
from tests.twins.sites import make_user
from tests.wire.worker.farm import GAMES, Answer, ServedFarm, Worker, open_farm, stats

pytestmark = pytest.mark.anyio

CALLS: dict[str, Answer] = {
    "update_task": {"stats": stats(pairs(ww=1))},
    "beat": {},
    "request_spsa": {},
    "failed_task": {"message": "x"},
    "stop_run": {"message": "x"},
    "upload_pgn": {"pgn": GAMES},
    "worker_log": {"message": "x"},
}
UNKNOWN = run_id("b")


@dataclass
class Scene:
    """A run whose engine has become private while otto's machine plays it; wanda is a stranger to
    it, and otto no longer in its team."""

    farm: ServedFarm
    otto: Worker
    wanda: Worker

    async def answer(self, call: str, run: str, task: int) -> tuple[int, Answer]:
        """What wanda's machine is told of a task, with the run's id left out."""
        ids = {"run_id": run, "task_id": task}
        answer = await self.wanda.send(call, self.wanda.body(**ids, **CALLS[call]))
        said: Answer = answer.json()
        del said["duration"]
        return answer.status_code, {
            name: str(value).replace(run, "RUN") for name, value in said.items()
        }


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    async with open_farm() as farm:
        await farm.parts.users.save(replace(await make_user(farm.parts, "otto"), machine_limit=9))
        await farm.submit()
        otto = farm.worker("otto", "5e6f7a8b")
        await otto.request_task()
        farm.parts.engines.private["Stockfish"] = "falcons"
        yield Scene(farm, otto, farm.worker())


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("task", [0, 7])
async def test_a_private_run_can_not_be_told_from_an_unknown_one(
    scene: Scene, call: str, task: int
) -> None:
    private = await scene.answer(call, scene.otto.ids["run_id"], task)
    assert private == await scene.answer(call, UNKNOWN, task)
    assert private[0] >= 400


async def test_who_holds_a_task_of_it_may_end_it(scene: Scene) -> None:
    await scene.otto.update(pairs(ww=1))
    await scene.otto.call("upload_pgn", pgn=GAMES)
    await scene.otto.call("failed_task", message="x")


async def test_a_task_that_a_public_run_never_had_is_named(scene: Scene) -> None:
    scene.farm.parts.engines.private.clear()
    _, told = await scene.answer("beat", scene.otto.ids["run_id"], 7)
    assert "has no task" in told["error"]
