"""What the fleet does by itself: burying dead tasks, shares, speeds, last-seen times, clean-up.

Each job works in slices and lets the loop go on in between, so that none holds it for longer than
a few milliseconds, however many runs and tasks there are.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import islice
from typing import TypeVar

from rookery.core.faults import RunFault
from rookery.core.rates import games_per_minute, nodes_per_second
from rookery.core.scheduling.throughput import shares
from rookery.logs import Log
from rookery.service.fleet.faults import Rebuilding
from rookery.service.fleet.fleet import Fleet
from rookery.service.fleet.ports import Batch, QueueFull, Seen, StateLost
from rookery.service.fleet.tenure import Tenure
from rookery.service.fleet.views import Pulse

T = TypeVar("T")

TICK_SECONDS = 5.0
DEAF_AFTER_SECONDS = 15.0
"""A tick that is so late came from a loop that heard nobody in the meantime."""
CLOCK_SLACK_SECONDS = 5.0
DEATHS_AT_A_TIME = 50
RUNS_AT_A_TIME = 20
TASKS_AT_A_TIME = 200
FORGOTTEN_AFTER = timedelta(days=7)


@dataclass(slots=True)
class Job:
    """Something to be done every so many seconds."""

    name: str
    seconds: float
    work: Callable[[], Awaitable[None]]
    due: float = field(default=0.0)


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
    """The jobs themselves."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet

    async def bury_the_dead(self) -> None:
        fleet = self._fleet
        found = True
        while found:
            tenure = fleet.enter()
            fleet.check_room()
            changes = tenure.reception.expire(fleet.clock.now(), DEATHS_AT_A_TIME)
            fleet.put(tenure, Batch(changes))
            found = bool(changes)
            await fleet.settle(tenure)

    async def refresh_shares(self) -> None:
        tenure = self._fleet.enter()
        found = shares(tenure.working.runs().values())
        async for part in _slices(found.items(), RUNS_AT_A_TIME):
            for run_id, share in part:
                if run_id in tenure.working.runs():
                    tenure.working.refresh_share(run_id, share)

    async def measure_speeds(self) -> None:
        working = self._fleet.enter().working
        pulses: dict[str, Pulse] = {}
        async for part in _slices(tuple(working.runs().values()), RUNS_AT_A_TIME):
            for run in part:
                tasks = tuple(working.tasks(run.id))
                pulses[run.id] = Pulse(nodes_per_second(tasks), games_per_minute(run, tasks))
        self._fleet.pulses = pulses

    async def write_last_seen(self) -> None:
        fleet = self._fleet
        tenure = fleet.enter()
        async for part in _slices(tuple(_active(tenure)), TASKS_AT_A_TIME):
            fleet.check_room()
            seen = tuple(
                Seen(*key, heard) for key in part if (heard := tenure.working.hearing.last(key))
            )
            fleet.put(tenure, Batch(seen=seen))
            await fleet.settle(tenure)

    async def forget_machines(self) -> None:
        working = self._fleet.enter().working
        working.roster.forget(self._fleet.clock.now() - FORGOTTEN_AFTER, working.task)


def jobs_of(fleet: Fleet, could_hear: Callable[[], bool]) -> tuple[Job, ...]:
    chores = Chores(fleet)
    return (
        Job("listening", TICK_SECONDS, Listening(fleet, could_hear)),
        Job("dead tasks", 60, chores.bury_the_dead),
        Job("shares", 60, chores.refresh_shares),
        Job("speeds", 60, chores.measure_speeds),
        Job("last seen", 60, chores.write_last_seen),
        Job("machines", 300, chores.forget_machines),
    )


@asynccontextmanager
async def working_off(fleet: Fleet, jobs: Iterable[Job], log: Log) -> AsyncIterator[None]:
    """Does the jobs for the length of the block."""
    task = asyncio.create_task(_work(fleet, tuple(jobs), log), name="fleet jobs")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


async def _work(fleet: Fleet, jobs: tuple[Job, ...], log: Log) -> None:
    for job in jobs:
        job.due = fleet.clock.seconds() + job.seconds
    while True:
        await asyncio.sleep(TICK_SECONDS)
        for job in jobs:
            if fleet.clock.seconds() >= job.due:
                await attempt(job, log)
                job.due = fleet.clock.seconds() + job.seconds


async def attempt(job: Job, log: Log) -> None:
    """A job that fails is tried again next time."""
    try:
        await job.work()
    except (Rebuilding, StateLost, QueueFull, RunFault) as error:
        log.info("job_put_off", job=job.name, why=type(error).__name__)
    except Exception as error:
        log.error("job_failed", job=job.name, error=repr(error), exc_info=error)


def _active(tenure: Tenure) -> Iterator[tuple[str, int]]:
    for run_id in tenure.working.runs():
        for task in tenure.working.tasks(run_id):
            yield run_id, task.id


async def _slices(items: Iterable[T], size: int) -> AsyncIterator[tuple[T, ...]]:
    rest = iter(items)
    while part := tuple(islice(rest, size)):
        yield part
        await asyncio.sleep(0)
