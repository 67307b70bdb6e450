"""Run by tests as a process of its own: workers report games through the group commit, and each
acknowledged report is said in JSON, so that a ledger can be held against the rows.

fleet_writer.py DATA                    on an embedded server of its own, until standard input ends
fleet_writer.py DATA MOMENT NUMBER      and kills itself at that passage of a fault point
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

from rookery.core.model.kinds import Report
from rookery.server.db import migrations
from rookery.server.db.embedded.server import open_server
from rookery.server.db.lease import Lease
from rookery.server.db.pool import AWAY, Queries, open_pool
from rookery.server.db.target import Problem, set_hook
from rookery.server.farm.commits import CommitQueue, StateLost
from rookery.server.farm.rules.answers import Changes, HeldTask
from rookery.server.farm.rules.eligibility import Policy
from rookery.server.farm.rules.reception import Reception
from rookery.server.farm.rules.working_set import WorkingSet
from rookery.server.farm.store import FleetStore
from tests.faults.owner import owner_is_gone, say, tell
from tests.makers import NOW, make_run, pairs
from tests.storage.farm.stores import changed, make_task

RUNS = [make_run("a"), make_run("b")]
TASKS_EACH = 5
MANY_GAMES = 1_000_000


class Scene:
    """A working set in one term, as the primary has it."""

    def __init__(self, commits: CommitQueue) -> None:
        self.commits = commits
        self.working = WorkingSet()
        self.reception = Reception(self.working, Policy(simulated=True))

    async def update(self, call: HeldTask, report: Report) -> None:
        """Returns when the report is acknowledged."""
        self.commits.check_capacity()
        outcome = self.reception.update(call, report, NOW)
        assert outcome.answer.alive, outcome.answer
        self.last = self.commits.put(outcome.changes)
        await self.commits.wait_committed(self.last)


async def opened(store: FleetStore) -> Scene:
    scene = Scene(await store.take())
    found = await store.reads.snapshot()
    for run, tasks in found.runs:
        scene.working.admit(run, tasks, NOW)
    rows = {f"{task.run}/{task.id}": task.results.games for _, ts in found.runs for task in ts}
    sums = [(run.tally.results.games, run.tally.total) for run, _ in found.runs]
    say("resumed", rows=rows, sums=sums, corrections=len(found.corrections))
    if not found.runs:
        await begin(scene)
    return scene


async def begin(scene: Scene) -> None:
    for run in RUNS:
        scene.working.admit(run, (), NOW)
        scene.commits.put(changed(run))
        for number in range(TASKS_EACH):
            task = make_task(run, number, MANY_GAMES)
            opened_run = scene.working.open(task, NOW)
            last = scene.commits.put(Changes(runs=(opened_run,), tasks=(task,)))
    await scene.commits.wait_committed(last)


class Fleet:
    """Workers that report, and repeat reports that were not acknowledged."""

    def __init__(self, store: FleetStore) -> None:
        self._store = store
        self._scene: Scene | None = None
        self._opening = asyncio.Lock()

    async def scene(self) -> Scene:
        async with self._opening:
            while self._scene is None:
                try:
                    self._scene = await opened(self._store)
                except (*AWAY, Problem, StateLost) as error:
                    say("not_rebuilt", reason=repr(error))
                    await asyncio.sleep(0.05)
        return self._scene

    async def work(self, run_id: str, number: int) -> None:
        scene = await self.scene()
        task = scene.working.task((run_id, number))
        assert task is not None
        results, call = task.results, HeldTask(run_id, number, task.machine)
        while True:
            results = results + pairs(ww=1)
            await self._insist(call, Report(results))
            say("kept", task=f"{run_id}/{number}", games=results.games)

    async def _insist(self, call: HeldTask, report: Report) -> None:
        while True:
            scene = await self.scene()
            try:
                return await scene.update(call, report)
            except StateLost:
                if self._scene is scene:
                    self._scene = None
                    say("interrupted")


def die_at(moment: str, number: int) -> None:
    passages = 0

    def hook(reached: str) -> None:
        nonlocal passages
        passages += reached == moment
        if passages == number:
            os.kill(os.getpid(), signal.SIGKILL)

    set_hook(hook)


async def main(data: Path, *fault: str) -> None:
    queries = Queries.load()
    async with open_server(data, log=tell) as server:
        await migrations.migrate(server.target, queries, migrations.load_migrations())
        async with open_pool(server.target, instance=f"fleet-{os.getpid()}", size=4) as pool:
            lease = Lease(pool, queries, instance=f"fleet-{os.getpid()}", address="")
            await lease.take(force=True)
            store = FleetStore(pool, queries, lease)
            if fault:
                die_at(fault[0], int(fault[1]))
            await run(Fleet(store))
            await store.close()


async def run(fleet: Fleet) -> None:
    await fleet.scene()
    keys = [(run.id, number) for run in RUNS for number in range(TASKS_EACH)]
    workers = [asyncio.create_task(fleet.work(*key)) for key in keys]
    gone = asyncio.create_task(owner_is_gone())
    done, _ = await asyncio.wait([gone, *workers], return_when=asyncio.FIRST_COMPLETED)
    for worker in workers:
        worker.cancel()
    await asyncio.wait(workers)
    for each in done:
        each.result()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), *sys.argv[2:]))
