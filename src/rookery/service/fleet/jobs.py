"""Jobs: what is done every so often for as long as the process serves."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from rookery.clock import Clock
from rookery.core.faults import RunFault
from rookery.logs import Log
from rookery.service.fleet.chores import Chores, Listening
from rookery.service.fleet.faults import Rebuilding
from rookery.service.fleet.fleet import Fleet
from rookery.service.fleet.ports import QueueFull, StateLost

TICK_SECONDS = 5.0
IsOutage = Callable[[BaseException], bool]


def never(_error: BaseException) -> bool:
    """Where there is no database that could be away."""
    return False


@dataclass(slots=True)
class Job:
    """Something to be done every so many seconds, and how that went so far."""

    name: str
    seconds: float
    work: Callable[[], Awaitable[None]]
    due: float = field(default=0.0)
    done: int = 0
    failed: int = 0
    spent_seconds: float = 0.0


def jobs_of(fleet: Fleet, could_hear: Callable[[], bool]) -> tuple[Job, ...]:
    chores = Chores(fleet)
    return (
        Job("listening", TICK_SECONDS, Listening(fleet, could_hear)),
        Job("dead tasks", 60, chores.bury_the_dead),
        Job("stalled tasks", 60, chores.take_back_the_stalled),
        Job("shares", 60, chores.refresh_shares),
        Job("speeds", 60, chores.measure_speeds),
        Job("waiting machines", 30, chores.count_waiting),
        Job("last seen", 60, chores.write_last_seen),
        Job("sums", 180, chores.check_sums),
        Job("machines", 300, chores.forget_machines),
    )


@asynccontextmanager
async def working_off(
    fleet: Fleet, jobs: Iterable[Job], log: Log, is_outage: IsOutage = never
) -> AsyncIterator[None]:
    """Does the jobs for the length of the block."""
    task = asyncio.create_task(_work(fleet.clock, tuple(jobs), log, is_outage), name="fleet jobs")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


async def _work(clock: Clock, jobs: tuple[Job, ...], log: Log, is_outage: IsOutage) -> None:
    for job in jobs:
        job.due = clock.seconds() + job.seconds
    # A long job must not make the server seem deaf, so that the others go on beside it.
    under_way: set[asyncio.Task[None]] = set()
    try:
        while True:
            await asyncio.sleep(TICK_SECONDS)
            for job in jobs:
                if clock.seconds() >= job.due:
                    job.due = float("inf")
                    work = _do(clock, job, log, is_outage)
                    task = asyncio.create_task(work, name=f"job {job.name}")
                    under_way.add(task)
                    task.add_done_callback(under_way.discard)
    finally:
        for task in tuple(under_way):
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)


async def _do(clock: Clock, job: Job, log: Log, is_outage: IsOutage) -> None:
    began = clock.seconds()
    await attempt(job, log, is_outage)
    job.spent_seconds += clock.seconds() - began
    job.due = clock.seconds() + job.seconds


async def attempt(job: Job, log: Log, is_outage: IsOutage = never) -> None:
    """A job that fails is tried again next time; a database that is away is no mistake of it."""
    try:
        await job.work()
    except (Rebuilding, StateLost, QueueFull, RunFault) as error:
        log.info("job_put_off", job=job.name, why=type(error).__name__)
    except Exception as error:
        if is_outage(error):
            log.warning("job_put_off", job=job.name, why=repr(error))
            return
        job.failed += 1
        log.error("job_failed", job=job.name, error=repr(error), exc_info=error)
    else:
        job.done += 1
