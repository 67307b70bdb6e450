"""What the fleet does by itself: burying dead tasks, shares, speeds, last-seen times, clean-up.

Each chore works in slices and lets the loop go on in between, so that none holds it for longer
than a few milliseconds, however many runs, tasks and machines there are.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Iterable
from datetime import timedelta
from itertools import islice
from typing import TypeVar

from rookery.core.machine import Machine
from rookery.core.rates import games_per_minute, nodes_per_second
from rookery.core.run import Run
from rookery.core.scheduling.fleet import STILL_THERE
from rookery.core.scheduling.throughput import share
from rookery.core.task import Task
from rookery.core.workingset import WorkingSet
from rookery.service.fleet.fleet import Fleet
from rookery.service.fleet.ports import Batch, Seen
from rookery.service.fleet.views import STILL, Pulse

T = TypeVar("T")

DEAF_AFTER_SECONDS = 15.0
"""A tick that is so late came from a loop that heard nobody in the meantime."""
CLOCK_SLACK_SECONDS = 5.0
DEATHS_AT_A_TIME = 50
RUNS_AT_A_TIME = 50
TASKS_AT_A_TIME = 200
MACHINES_AT_A_TIME = 500
FORGOTTEN_AFTER = timedelta(days=7)


class SumsDisagree(Exception):
    """The sums of a run are not what its tasks say; a restart would correct them."""


class Listening:
    """Whether the server could hear: silence counts against nobody while it could not."""

    def __init__(self, fleet: Fleet, could_hear: Callable[[], bool]) -> None:
        self._fleet = fleet
        self._could_hear = could_hear
        self._last = (fleet.clock.seconds(), fleet.clock.now())

    async def __call__(self) -> None:
        seconds, now = self._fleet.clock.seconds(), self._fleet.clock.now()
        passed = seconds - self._last[0]
        jumped = abs((now - self._last[1]).total_seconds() - passed) > CLOCK_SLACK_SECONDS
        self._last = (seconds, now)
        if passed > DEAF_AFTER_SECONDS or jumped or not self._could_hear():
            self._fleet.enter().working.hearing.recover(now)


class Chores:
    """The chores themselves."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._checked = ""

    async def bury_the_dead(self) -> None:
        fleet = self._fleet
        more = True
        while more:
            tenure = fleet.enter()
            fleet.check_room()
            changes = tenure.reception.expire(fleet.clock.now(), DEATHS_AT_A_TIME)
            fleet.put(tenure, Batch(changes))
            more = tenure.reception.has_silent(fleet.clock.now())
            await fleet.settle(tenure)
            await asyncio.sleep(0)

    async def take_back_the_stalled(self) -> None:
        fleet = self._fleet
        tenure = fleet.enter()
        async for _, tasks in portions(tenure.working):
            fleet.check_room()
            changes = tenure.reception.take_back(tasks, fleet.clock.now())
            if changes:
                fleet.put(tenure, Batch(changes))
                await fleet.settle(tenure)

    async def refresh_shares(self) -> None:
        working = self._fleet.enter().working
        busy: Counter[str] = Counter()
        async for runs in slices(tuple(working.runs().values()), RUNS_AT_A_TIME):
            busy.update(run.plan.owner for run in runs if run.tally.workers > 0)
        async for ids in slices(tuple(working.runs()), RUNS_AT_A_TIME):
            for run in filter(None, map(working.runs().get, ids)):
                working.refresh_share(run.id, share(run, busy[run.plan.owner]))

    async def measure_speeds(self) -> None:
        pulses: dict[str, Pulse] = {}
        paces: defaultdict[str, float] = defaultdict(float)
        async for run, tasks in portions(self._fleet.enter().working):
            before = pulses.get(run.id, STILL)
            pulses[run.id] = Pulse(
                before.nps + nodes_per_second(tasks),
                before.games_per_minute + games_per_minute(run, tasks),
            )
            for task in tasks:
                paces[task.machine.user] += games_per_minute(run, (task,))
        self._fleet.pulses = pulses
        self._fleet.user_paces = paces

    async def write_last_seen(self) -> None:
        fleet = self._fleet
        tenure = fleet.enter()
        async for run, tasks in portions(tenure.working):
            fleet.check_room()
            seen = tuple(
                Seen(run.id, task.id, heard)
                for task in tasks
                if (heard := tenure.working.hearing.last((run.id, task.id)))
            )
            fleet.put(tenure, Batch(seen=seen))
            await fleet.settle(tenure)

    async def check_sums(self) -> None:
        """One run at a time: sums that are not what tasks say would be a fault of ours."""
        runs = self._fleet.enter().working.runs()
        later = [run_id for run_id in runs if run_id > self._checked]
        self._checked = min(later or runs, default="")
        if self._checked and not await self._fleet.agrees(self._checked):
            raise SumsDisagree(self._checked)

    async def count_waiting(self) -> None:
        self._fleet.waiting_machines = len(await find_waiting_machines(self._fleet))

    async def forget_machines(self) -> None:
        working = self._fleet.enter().working
        before = self._fleet.clock.now() - FORGOTTEN_AFTER
        async for names in slices(working.roster.names(), MACHINES_AT_A_TIME):
            working.roster.forget(names, before, working.task)


async def find_waiting_machines(fleet: Fleet) -> list[Machine]:
    """The machines that asked for a task not long ago and found none."""
    working = fleet.enter().working
    since, waiting = fleet.clock.now() - STILL_THERE, list[Machine]()
    async for names in slices(working.roster.names(), MACHINES_AT_A_TIME):
        waiting += working.roster.waiting(names, since, working.task)
    return waiting


async def slices(items: Iterable[T], size: int) -> AsyncIterator[tuple[T, ...]]:
    """So many at a time, with a turn for everybody else in between."""
    rest = iter(items)
    while part := tuple(islice(rest, size)):
        yield part
        await asyncio.sleep(0)


async def portions(working: WorkingSet) -> AsyncIterator[tuple[Run, tuple[Task, ...]]]:
    """Every run with its active tasks, a portion of them at a time; a run may come repeatedly.

    What ends in the meantime may still come along.
    """
    weight = 0
    for run in tuple(working.runs().values()):
        tasks = tuple(working.tasks(run.id))
        for start in range(0, max(len(tasks), 1), TASKS_AT_A_TIME):
            part = tasks[start : start + TASKS_AT_A_TIME]
            yield run, part
            weight += len(part) + TASKS_AT_A_TIME // RUNS_AT_A_TIME
            if weight >= TASKS_AT_A_TIME:
                weight = 0
                await asyncio.sleep(0)
