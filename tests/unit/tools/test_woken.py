"""What the questions to a server that was asleep would notice about its answers."""

import json
import random
from typing import cast

import asyncpg
import httpx
import pytest

from tests.faults.woken import HeldTasks, Question, WokenQuestions
from tests.fleet.ledger import Ledger

pytestmark = pytest.mark.anyio

RUN, CLIENT = "a" * 24, "10.0.0.1"
IDS = {"run_id": RUN, "task_id": 3}
ASKED = json.dumps({"password": "x", "worker_info": {}}).encode()
ABOUT = json.dumps({"password": "x", "worker_info": {}, **IDS}).encode()
GIVEN = {"run": {"_id": RUN, "my_task": {"num_games": 100}}, "task_id": 3}


class Rows:
    """A database in which the task is active or not."""

    def __init__(self, *, active: bool) -> None:
        self.active = active

    async def fetchval(self, _sql: str, *_words: object) -> bool:
        return self.active


def questions(tasks: HeldTasks, *, active: bool = True) -> WokenQuestions:
    looking = cast("asyncpg.Connection[asyncpg.Record]", Rows(active=active))
    return WokenQuestions(Ledger(), tasks, looking, (RUN,), random.Random(1))


def held() -> HeldTasks:
    tasks = HeldTasks()
    tasks.note_answer("/api/request_task", ASKED, CLIENT, GIVEN)
    return tasks


def beat(tasks: HeldTasks) -> Question:
    task = tasks.tasks[RUN, 3]
    return Question("beat", "/api/beat", {}, task=task, was_over=task.is_over)


def alive(value: bool) -> httpx.Response:
    return httpx.Response(200, json={"task_alive": value})


async def test_fewer_games_than_the_row_had_are_stale() -> None:
    shown = {"results": {"wins": 3, "losses": 2, "draws": 5}}
    asking, answer = questions(held()), httpx.Response(200, json=shown)
    assert await asking.judge(Question("v1", "/", least_games=12), answer)
    assert not await asking.judge(Question("v1", "/", least_games=10), answer)
    page = httpx.Response(200, text='<dd id="games">1,010</dd>')
    assert await asking.judge(Question("page", "/", least_games=1011), page)
    assert not await asking.judge(Question("page", "/", least_games=1010), page)


async def test_a_task_whose_end_was_acknowledged_may_not_be_alive() -> None:
    tasks = held()
    tasks.note_answer("/api/failed_task", ABOUT, CLIENT, {"duration": 0.0})
    assert await questions(tasks).judge(beat(tasks), alive(True))
    assert not await questions(tasks).judge(beat(tasks), alive(False))


async def test_a_task_whose_row_is_active_may_not_be_dead() -> None:
    tasks = held()
    assert await questions(tasks, active=True).judge(beat(tasks), alive(False))
    assert not await questions(tasks, active=False).judge(beat(tasks), alive(False))
    assert not await questions(tasks).judge(beat(tasks), alive(True))


async def test_a_task_that_its_worker_is_about_to_end_may_be_either() -> None:
    tasks = held()
    tasks.note_sent("/api/failed_task", ABOUT, CLIENT)
    assert not await questions(tasks).judge(beat(tasks), alive(False))
    assert not await questions(tasks).judge(beat(tasks), alive(True))
