"""A run with 100,000 tasks ends and is purged while workers of other runs report: what these wait.

    PYTHONPATH=src:. python benchmarks/large_run.py [--tasks 100000] [--rate 500] [--seconds 10]

The whole fleet service on an embedded server with fsync on, without HTTP. A stretch is as long as
what happens in it, but for the first. `held` is the longest time that the event loop stood still.
"""

import argparse
import asyncio
import random
import tempfile
import time
from collections.abc import Awaitable
from dataclasses import dataclass, field, replace
from pathlib import Path

import uvloop
from msgspec.structs import replace as with_fields

from benchmarks.stored import stored
from rookery.core.boundary.offload import Threads
from rookery.core.clock import SystemClock
from rookery.core.model.events import Action
from rookery.core.model.kinds import Report
from rookery.core.model.task import NOTHING, Task, recounted
from rookery.server.app.run import collect_rarely
from rookery.server.db.pool import Queries
from rookery.server.farm.fleet import Fleet
from rookery.server.farm.rules.answers import Grant, HeldTask
from rookery.server.farm.rules.eligibility import Policy
from rookery.server.farm.store import FleetStore
from rookery.server.logs import logger
from tests.makers import BOSS, NOW, make_machine, make_plan, make_run, pairs
from tests.storage.farm.stores import changed, make_task

WORKERS = 200
TICK_SECONDS = 0.002


@dataclass(slots=True)
class Stretch:
    """What workers waited, and how long the loop stood still."""

    waits: list[float] = field(default_factory=list)
    held: float = 0.0

    def print(self, name: str, seconds: float) -> None:
        waits = sorted(self.waits) or [0.0]
        print(
            f"{name:<34} {seconds:>6.1f} s {len(waits) / seconds:>6.0f} updates/s"
            f"   p50 {1e3 * waits[len(waits) // 2]:>5.1f}"
            f"  p99 {1e3 * waits[len(waits) * 99 // 100]:>6.1f}"
            f"  longest {1e3 * waits[-1]:>6.1f}  held {1e3 * self.held:>6.1f} ms",
            flush=True,
        )


class Players:
    """Workers of other runs, who report at a rate of their own."""

    def __init__(self, fleet: Fleet, rate: float) -> None:
        self._fleet = fleet
        self._pause = WORKERS / rate
        self.now = Stretch()

    async def play(self) -> None:
        tasks = [await self._task(number) for number in range(WORKERS)]
        await asyncio.gather(self._watch(), *map(self._report, tasks))

    async def _task(self, number: int) -> Task:
        machine = make_machine(f"p{number:03}", cores=32)
        answer = await self._fleet.request_task(machine, limit=10**6)
        assert isinstance(answer, Grant), answer
        return answer.task

    async def _report(self, task: Task) -> None:
        results, call = NOTHING, HeldTask(task.run, task.id, task.machine)
        while results.games + 4 < task.games:
            await asyncio.sleep(random.uniform(0, 2 * self._pause))
            results = results + pairs(ld=1, wd=1)
            began = time.perf_counter()
            assert (await self._fleet.update_task(call, Report(results))).alive
            self.now.waits.append(time.perf_counter() - began)

    async def _watch(self) -> None:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(TICK_SECONDS)
            late = time.perf_counter() - began - TICK_SECONDS
            self.now.held = max(self.now.held, late)

    async def during(self, name: str, work: Awaitable[object]) -> None:
        self.now, began = Stretch(), time.perf_counter()
        await work
        self.now.print(name, time.perf_counter() - began)


async def build(store: FleetStore, tasks: int) -> None:
    """The large run, all of its tasks active; half of them a machine's that is not like others."""
    commits = await store.take()
    run = make_run("large", plan=make_plan(games=200 * tasks, priority=-5))
    made = [_task(run.id, make_task(run, number)) for number in range(tasks)]
    run = replace(run, tally=recounted(made), created=SystemClock().now())
    await commits.wait_committed(commits.put(changed(run)))
    for start in range(0, tasks, 1000):
        await commits.wait_committed(commits.put(changed(*made[start : start + 1000])))
    for number in range(20):
        other = make_run(f"r{number}", plan=make_plan(games=10**8))
        await commits.wait_committed(commits.put(changed(replace(other, created=NOW))))


def _task(run_id: str, task: Task) -> Task:
    if task.id % 2:
        return replace(task, run=run_id, results=pairs(5, 10, 20, 10, 5))
    odd = with_fields(task.machine, key=make_machine("odd").key)
    return replace(task, run=run_id, results=pairs(0, 5, 20, 15, 10), machine=odd)


async def measure(store: FleetStore, options: argparse.Namespace) -> None:
    await build(store, options.tasks)
    fleet = Fleet(
        store, SystemClock(), logger(), policy=Policy(simulated=True), in_thread=Threads().cpu
    )
    began = time.perf_counter()
    await fleet.primary.open()
    print(f"{options.tasks:,} active tasks read in {time.perf_counter() - began:.1f} s")
    players = Players(fleet, options.rate)
    playing = asyncio.create_task(players.play())
    await asyncio.sleep(2)
    large = make_run("large").id
    await players.during("nothing else happens", asyncio.sleep(options.seconds))
    await players.during("the run ends", fleet.commands.stop(large, BOSS))
    await players.during("its tasks' rows follow", written(store))
    await players.during("half of its tasks are purged", purged(fleet, store, large))
    await players.during("nothing else happens", asyncio.sleep(options.seconds))
    playing.cancel()
    await asyncio.wait([playing])
    await fleet.primary.close()


async def written(store: FleetStore) -> None:
    while store.stats().backlog:  # noqa: ASYNC110 - nothing tells when it is empty
        await asyncio.sleep(0.05)


async def purged(fleet: Fleet, store: FleetStore, run_id: str) -> None:
    """It is answered as soon as it is written down; the log says when it is over."""
    began = time.perf_counter()
    answer = await fleet.purges.purge(run_id, BOSS)
    print(f"the purge is answered within {time.perf_counter() - began:.3f} s")
    while answer.under_way and not await _is_told(store):  # noqa: ASYNC110 - as above
        await asyncio.sleep(0.5)


async def _is_told(store: FleetStore) -> bool:
    events = await store.reads.events(2 * WORKERS)
    return any(event.action is Action.PURGE_RUN for event in events)


async def main(options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with stored(Path(folder) / "data", Queries.load()) as (_, store):
            await measure(store, options)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=100_000)
    parser.add_argument("--rate", type=float, default=500.0)
    parser.add_argument("--seconds", type=float, default=10.0)
    collect_rarely()
    uvloop.run(main(parser.parse_args()))
