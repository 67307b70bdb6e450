"""The group commit against a commit per change: acknowledged changes a second, and CPU per change.

    PYTHONPATH=src:. python benchmarks/commits.py [--workers 400] [--seconds 5]

Both ways write the same two rows per change (a task and its run) to the same embedded server with
fsync on. A worker sends its next report when the last one is acknowledged. At the end a run with
100,000 tasks ends while the workers go on, and the time their answers take is printed.
"""

import argparse
import asyncio
import itertools
import math
import random
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path

import uvloop

from benchmarks.stored import stored
from rookery.core.model.run import Run
from rookery.core.model.task import Task
from rookery.server.db.pool import Queries
from rookery.server.farm.commits import GroupCommit
from rookery.server.farm.rules.answers import Changes, Closing
from rookery.server.farm.writing import PendingRows, Writer
from tests.makers import NOW, make_run, pairs, sprt
from tests.storage.farm.stores import changed, finished, make_task

RUNS = [make_run(f"r{number:03}", kind=sprt()) for number in range(50)]
MANY_TASKS = 100_000
Acknowledge = Callable[[Changes], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Figures:
    """What a stretch of work came to."""

    changes: int
    seconds: float
    cpu: float
    waits: tuple[float, ...]

    def print(self, name: str) -> None:
        waits = sorted(self.waits)
        print(
            f"{name:<28} {self.changes / self.seconds:>9,.0f} changes/s"
            f" {1e6 * self.cpu / self.changes:>8.0f} µs CPU of ours per change"
            f"   wait p50 {1e3 * waits[len(waits) // 2]:.1f} ms,"
            f" p99 {1e3 * waits[len(waits) * 99 // 100]:.1f} ms"
        )


class Table:
    """Runs and tasks in memory, changed by one report after the other."""

    def __init__(self, workers: int) -> None:
        self.runs = {run.id: run for run in RUNS}
        self.tasks: dict[int, Task] = {}
        for number in range(workers):
            run = RUNS[number % len(RUNS)]
            self.tasks[number] = make_task(run, number // len(RUNS), games=1_000_000)

    def report(self, worker: int) -> Changes:
        before = self.tasks[worker]
        task = before.with_results(before.results + pairs(ww=1), None, NOW)
        run = self.runs[task.run]
        tally = run.tally.reported(before.results, task.results)
        run = run.with_play(run.kind, tally, NOW)
        self.tasks[worker], self.runs[run.id] = task, run
        return changed(run, task)

    def everything(self) -> Changes:
        return changed(*self.runs.values(), *self.tasks.values())


async def measured(
    table: Table, workers: int, seconds: float, send: Acknowledge, *, rate: float = math.inf
) -> Figures:
    """What happens when all workers together send at most about that many changes a second."""
    waits: list[float] = []
    end = time.perf_counter() + seconds

    async def work(worker: int) -> None:
        while time.perf_counter() < end:
            await asyncio.sleep(random.uniform(0, 2 * workers / rate))
            started = time.perf_counter()
            await send(table.report(worker))
            waits.append(time.perf_counter() - started)

    started, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(work(worker) for worker in range(workers)))
    spent = time.process_time() - cpu
    return Figures(len(waits), time.perf_counter() - started, spent, tuple(waits))


def by_group(commits: GroupCommit) -> Acknowledge:
    async def send(batch: Changes) -> None:
        await commits.wait_committed(commits.put(batch))

    return send


def row_by_row(writer: Writer) -> Acknowledge:
    """One transaction per change; one after the other, as one writer must."""
    turn, numbers = asyncio.Lock(), itertools.count(1)

    async def send(batch: Changes) -> None:
        gathered = PendingRows()
        gathered.add(batch)
        async with turn:
            await writer.write(gathered, next(numbers))

    return send


async def closing(commits: GroupCommit, table: Table, workers: int) -> None:
    """A large run ends while the others play."""
    run = make_run("large")
    tasks = tuple(make_task(run, number) for number in range(MANY_TASKS))
    commits.put(changed(run))
    for start in range(0, MANY_TASKS, 1000):
        await commits.wait_committed(commits.put(changed(*tasks[start : start + 1000])))
    send = by_group(commits)
    (await measured(table, workers, 3, send, rate=1000)).print("before a large run ends")
    work = asyncio.create_task(measured(table, workers, 3, send, rate=1000))
    await asyncio.sleep(0.1)
    over = _ended(run, tasks)
    started = time.perf_counter()
    await commits.wait_committed(commits.put(over))
    print(f"a run with {MANY_TASKS:,} tasks ended in {time.perf_counter() - started:.3f} s")
    (await work).print("while it ends")
    await commits.flush(60)
    print(f"its tasks' rows followed within {time.perf_counter() - started:.1f} s")


def _ended(run: Run, tasks: tuple[Task, ...]) -> Changes:
    over = replace(finished("large", run=run), tally=replace(run.tally, tasks=len(tasks)))
    return Changes(runs=(over,), closings=(Closing(run.id, NOW, tasks),))


async def main(workers: int, seconds: float) -> None:
    queries, table = Queries.load(), Table(workers)
    with tempfile.TemporaryDirectory() as folder:
        async with stored(Path(folder) / "data", queries) as (lease, store):
            commits = await store.take()
            await commits.wait_committed(commits.put(table.everything()))
            print(f"{workers} workers on {len(RUNS)} runs, {seconds:.0f} s each")
            writer = Writer(await lease.take(), queries)
            (await measured(table, workers, seconds, row_by_row(writer))).print("row by row")
            commits = await store.take()
            send = by_group(commits)
            (await measured(table, workers, seconds, send)).print("group commit")
            calm = await measured(table, workers, seconds, send, rate=1000)
            calm.print("group commit at 1,000/s")
            stats = commits.stats()
            print(f"{stats.changes / stats.rounds:.1f} changes to a round, at most {stats.largest}")
            await closing(commits, table, workers)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=400)
    parser.add_argument("--seconds", type=float, default=5.0)
    uvloop.run(main(**vars(parser.parse_args())))
