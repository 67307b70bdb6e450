"""A model of commit, answer, forwarding and takeover: a worker's report is cut at each await.

Whatever happens, a report that was acknowledged counts once, one that was refused does not count,
and a repeated last report gets the answer of the first. Here a worker is what it is in the field:
it repeats what was not answered, to either server, until it hears something.
"""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rookery.core.model.engine import STANDARD
from rookery.core.model.run import create
from rookery.core.model.task import NOTHING, Results, recounted
from rookery.server.http.primary_link import Reply
from tests.makers import BOSS, make_plan, pairs, run_id, sprt
from tests.wire.worker.cut_farm import (
    FIRST,
    SECOND,
    CountedLoop,
    CutFarm,
    ask,
    open_cut_farm,
)
from tests.wire.worker.farm import Answer, stats, worker_info

GAMES = 4
MIDDLE, LAST = pairs(ww=1), pairs(ww=1, even=1)
MOST_TRIES = 20
PAUSE_SECONDS = 1.0
LEAST_PLACES = 10
"""How many places to cut there are at least in two reports."""


@dataclass(slots=True)
class Worker:
    """A worker with one task: what it was told of its reports."""

    farm: CutFarm
    at: str
    ids: Answer = field(default_factory=dict)
    acknowledged: Results = NOTHING
    refused: list[Answer] = field(default_factory=list)

    async def call(self, path: str, **more: object) -> Answer:
        """Repeats a call until a server answers it; each time the other one is asked."""
        said = {
            "password": "x",
            "worker_info": worker_info("olga", concurrency=1),
            **self.ids,
            **more,
        }
        for _ in range(MOST_TRIES):
            reply = await self._hear(f"/api/{path}", json.dumps(said).encode())
            if reply and reply.header(b"content-type") == b"application/json":
                answer: Answer = json.loads(reply.body)
                del answer["duration"]
                return answer
            self.at = SECOND if self.at == FIRST else FIRST
            await asyncio.sleep(PAUSE_SECONDS if reply else 0)
        raise AssertionError(f"{path} was never answered")

    async def _hear(self, path: str, body: bytes) -> Reply | None:
        """The answer to a call; None where the worker stopped listening."""
        call = asyncio.ensure_future(ask(self.farm.instances[self.at].app, path, body))
        impatience = asyncio.ensure_future(self.farm.impatience.wait())
        await asyncio.wait({call, impatience}, return_when=asyncio.FIRST_COMPLETED)
        impatience.cancel()
        self.farm.impatience.clear()
        return call.result() if call.done() else None

    async def take_task(self) -> None:
        answer = await self.call("request_task")
        assert answer["run"]["my_task"]["num_games"] == GAMES
        self.ids = {"run_id": answer["run"]["_id"], "task_id": answer["task_id"]}

    async def report(self, results: Results) -> Answer:
        answer = await self.call("update_task", stats=stats(results))
        if answer.keys() & {"info", "error"}:
            self.refused.append(answer)
        else:
            self.acknowledged = results
        return answer


def stop_run(farm: CutFarm) -> None:
    """The run's owner stops it."""
    primary = farm.primary.site.fleet.primary
    if primary.is_serving:
        primary.spawn(farm.primary.site.fleet.commands.stop(run_id("a"), BOSS))


def step_down(farm: CutFarm) -> None:
    """The primary hands over in order."""

    async def release() -> None:
        farm.take_over()

    primary = farm.primary.site.fleet.primary
    primary.spawn(primary.step_down(release))


Fault = Callable[[CutFarm], object]
FAULTS: tuple[Fault, ...] = (
    CutFarm.take_over,
    CutFarm.take_over_in_silence,
    CutFarm.lose_memory,
    CutFarm.break_line,
    CutFarm.cut_links,
    CutFarm.lose_patience,
    step_down,
    stop_run,
)


async def open_scene(farm: CutFarm, at: str, games: int) -> Worker:
    """A run of so many games, and a worker that has reported the first half of its task."""
    fleet = farm.primary.site.fleet
    now = farm.primary.site.clock.now()
    run = create(run_id("a"), make_plan(games=games, tc="300+0"), sprt(), STANDARD, now)
    await fleet.commands.submit(run, approver=BOSS.name)
    worker = Worker(farm, at)
    await worker.take_task()
    return worker


def check(farm: CutFarm, worker: Worker) -> None:
    """That the rows say what the worker was told."""
    rows = farm.database.rows
    run, (task,) = rows.runs[run_id("a")], rows.of_run(run_id("a"))
    assert run.tally.results == recounted([task]).results == task.results
    assert task.results == worker.acknowledged, (worker.refused, task)


async def report_and_cut(
    at: str, games: int, cuts: list[tuple[Fault, int]], loop: CountedLoop
) -> bool:
    """A worker reports twice; faults happen so many turns of the loop after the reports began, one
    after the other. Gives whether all of them happened before the last answer."""
    async with open_cut_farm() as farm:
        worker = await open_scene(farm, at, games)
        loop.do_all([(turns, partial(fault, farm)) for fault, turns in cuts])
        await worker.report(MIDDLE)
        first = await worker.report(LAST)
        all_happened = not loop.drop()
        await farm.settle()
        check(farm, worker)
        assert await worker.report(LAST) == first
        await farm.settle()
        check(farm, worker)
    return all_happened


def played(at: str, games: int, *cuts: tuple[Fault, int]) -> bool:
    with asyncio.Runner(loop_factory=CountedLoop) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, CountedLoop)
        return runner.run(report_and_cut(at, games, list(cuts), loop))


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
@pytest.mark.parametrize("at", [FIRST, SECOND], ids=["primary", "secondary"])
@pytest.mark.parametrize("games", [GAMES, 2 * GAMES], ids=["end of the run", "end of the task"])
def test_a_report_that_is_cut_anywhere_counts_once_and_as_its_worker_was_told(
    at: str, fault: Fault, games: int
) -> None:
    for turns in count():
        if not played(at, games, (fault, turns)):
            break
    assert turns > LEAST_PLACES


CUTS = st.lists(st.tuples(st.sampled_from(FAULTS), st.integers(0, 40)), min_size=2, max_size=4)


@settings(max_examples=200)
@given(st.sampled_from((FIRST, SECOND)), st.sampled_from((GAMES, 2 * GAMES)), CUTS)
def test_so_does_one_that_is_cut_several_times(
    at: str, games: int, cuts: list[tuple[Fault, int]]
) -> None:
    played(at, games, *cuts)
