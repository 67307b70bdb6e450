"""Periodic jobs of the fleet, and the loop that runs jobs for as long as the process serves."""

import asyncio
import enum
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice
from typing import TypeVar

from rookery.core.clock import Clock
from rookery.core.model.run import Run, RunFault, games_per_minute, nodes_per_second
from rookery.core.model.task import Task, TaskKey
from rookery.core.stats.residuals import Colour
from rookery.server.boundary.domains import Domain, runs
from rookery.server.farm.commits import QueueFull, StateLost
from rookery.server.farm.fleet import Fleet
from rookery.server.farm.primary import Primary, Rebuilding
from rookery.server.farm.published import InThread, inline
from rookery.server.farm.rules.answers import Changes, Decision, TaskSeen
from rookery.server.farm.rules.assignment import share
from rookery.server.farm.rules.working_set import WorkingSet
from rookery.server.farm.terms import PrimaryTerm
from rookery.server.farm.views import NO_SPEED, RunSpeed, find_waiting_machines
from rookery.server.logs import Log

# The fleet's own chores: ending dead tasks, shares, speeds, last-seen times, clean-up.
#
# Each works in slices and yields to the loop in between, so that none holds it for longer than a
# few milliseconds, whatever the number of runs, tasks and machines.

T = TypeVar("T")

DEAF_AFTER_SECONDS = 15.0
"""A tick that is this late shows that the event loop was blocked and heard no machine in the
meantime."""
CLOCK_SLACK_SECONDS = 5.0
DEATHS_AT_A_TIME = 50
RUNS_AT_A_TIME = 50
TASKS_AT_A_TIME = 200
MACHINES_AT_A_TIME = 500
FORGOTTEN_AFTER = timedelta(days=7)


class SumsDisagree(Exception):
    """The sums of a run are not what its tasks say; a restart would correct them."""


@runs(Domain.LOOP, "compares two clock readings")
class Reachability:
    """Excuses silent tasks while the server can't be reached: they are not dead."""

    def __init__(self, fleet: Fleet, is_reachable: Callable[[], bool]) -> None:
        self._primary = fleet.primary
        self._is_reachable = is_reachable
        self._last = (self._primary.clock.seconds(), self._primary.clock.now())

    async def __call__(self) -> None:
        seconds, now = self._primary.clock.seconds(), self._primary.clock.now()
        passed = seconds - self._last[0]
        jumped = abs((now - self._last[1]).total_seconds() - passed) > CLOCK_SLACK_SECONDS
        self._last = (seconds, now)
        if passed > DEAF_AFTER_SECONDS or jumped or not self._is_reachable():
            self._primary.excuse_silence()


class FleetJobs:
    """The work of the fleet's jobs, one method each."""

    def __init__(self, fleet: Fleet, in_thread: InThread = inline) -> None:
        self._primary = fleet.primary
        self._activity = fleet.activity
        self._in_thread = in_thread
        self._checked = ""
        self._seen = datetime.min.replace(tzinfo=UTC)

    @runs(Domain.LOOP_CPU, "looks at 50 silent tasks at a time; awaits the commit")
    async def end_dead_tasks(self) -> None:
        more = True
        while more:
            more = await self._primary.answer(_end_some_dead_tasks)
            await asyncio.sleep(0)

    @runs(Domain.LOOP_CPU, "looks at 200 tasks at a time; awaits the commit")
    async def end_stalled_tasks(self) -> None:
        term = self._primary.term()
        async for _, tasks in portions(term.working):
            now = self._primary.clock.now()
            if stalled := [task for task in tasks if term.reception.is_stalled(task, now)]:
                await self._primary.answer(partial(_take_back, stalled))

    @runs(Domain.LOOP_CPU, "goes through 50 runs at a time")
    async def refresh_shares(self) -> None:
        working = self._primary.term().working
        busy: Counter[str] = Counter()
        async for part in slices(tuple(working.runs().values()), RUNS_AT_A_TIME):
            busy.update(run.plan.owner for run in part if run.tally.workers > 0)
        async for ids in slices(tuple(working.runs()), RUNS_AT_A_TIME):
            for run in filter(None, map(working.runs().get, ids)):
                working.refresh_share(run.id, share(run, busy[run.plan.owner]))

    @runs(Domain.LOOP_CPU, "adds up 200 tasks at a time")
    async def measure_speeds(self) -> None:
        speeds: dict[str, RunSpeed] = {}
        paces: defaultdict[str, float] = defaultdict(float)
        async for run, tasks in portions(self._primary.term().working):
            before, in_all = speeds.get(run.id, NO_SPEED), 0.0
            for task in tasks:
                pace = games_per_minute(run, (task,))
                paces[task.machine.user] += pace
                in_all += pace
            speeds[run.id] = RunSpeed(
                before.nps + nodes_per_second(tasks), before.games_per_minute + in_all
            )
        self._activity.speeds = speeds
        self._activity.user_paces = paces

    @runs(Domain.THREAD, "the tasks of one run at a time are compared in a thread")
    async def judge_tasks(self) -> None:
        """Find the tasks whose results differ from those of other machines on the same run. It goes
        run by run, because with 100,000 machines all at once would block the interpreter, and thus
        the loop, for a third of a second."""
        working = self._primary.term().working
        colours: dict[TaskKey, Colour] = {}
        for run in tuple(working.runs().values()):
            if tasks := tuple(working.tasks(run.id)):
                colours |= await self._in_thread(partial(_judge_tasks, run, tasks))
        self._activity.residual_colours = colours

    @runs(Domain.LOOP_CPU, "goes through 200 tasks at a time; awaits the commit")
    async def write_last_seen(self) -> None:
        """Write the last-seen times of tasks heard of since the last call: half of a large
        fleet."""
        after, self._seen = self._seen, self._primary.clock.now()
        async for run, tasks in portions(self._primary.term().working):
            await self._primary.answer(partial(_note_last_seen, run.id, tasks, after))

    @runs(Domain.LOOP, "chooses one run, whose sums are awaited")
    async def check_sums(self) -> None:
        """Check the sums of one run per call; sums that differ from its tasks would show a bug of
        ours."""
        runs = self._primary.term().working.runs()
        later = [run_id for run_id in runs if run_id > self._checked]
        self._checked = min(later or runs, default="")
        if self._checked and not await self._primary.reads.agrees(self._checked):
            raise SumsDisagree(self._checked)

    @runs(Domain.LOOP, "awaits the rows of users who have just begun to play")
    async def look_up_newcomers(self) -> None:
        await self._primary.look_up_newcomers()

    @runs(Domain.LOOP_CPU, "looks at 500 machines at a time")
    async def count_waiting(self) -> None:
        working, now = self._primary.term().working, self._primary.clock.now()
        self._activity.waiting_machines = len(await find_waiting_machines(working, now))

    @runs(Domain.LOOP_CPU, "looks at 500 machines at a time")
    async def forget_machines(self) -> None:
        working = self._primary.term().working
        before = self._primary.clock.now() - FORGOTTEN_AFTER
        async for names in slices(working.machines.names(), MACHINES_AT_A_TIME):
            working.machines.forget(names, before, working.task)


def _judge_tasks(run: Run, tasks: Sequence[Task]) -> dict[TaskKey, Colour]:
    test = run.kind.judge({str(task.id): task.results for task in tasks})
    if test is None:
        return {}
    found = test.residuals.items()
    return {(run.id, int(name)): test.colour(residual) for name, residual in found}


def _end_some_dead_tasks(term: PrimaryTerm, now: datetime) -> Decision[bool]:
    """End some dead tasks and answer whether there are more silent ones to look at."""
    changes = term.reception.expire(now, DEATHS_AT_A_TIME)
    return Decision(term.reception.has_silent(now), changes)


def _take_back(tasks: Iterable[Task], term: PrimaryTerm, now: datetime) -> Decision[None]:
    return Decision(None, term.reception.end_stalled_tasks(tasks, now))


def _note_last_seen(
    run_id: str, tasks: Iterable[Task], after: datetime, term: PrimaryTerm, _now: datetime
) -> Decision[None]:
    times = ((task.id, term.working.last_seen.get((run_id, task.id))) for task in tasks)
    seen = tuple(TaskSeen(run_id, task_id, at) for task_id, at in times if at and at >= after)
    return Decision(None, Changes(seen=seen))


async def slices(items: Iterable[T], size: int) -> AsyncIterator[tuple[T, ...]]:
    """Items in tuples of `size`; other tasks can run in between."""
    rest = iter(items)
    while part := tuple(islice(rest, size)):
        yield part
        await asyncio.sleep(0)


async def portions(working: WorkingSet) -> AsyncIterator[tuple[Run, tuple[Task, ...]]]:
    """Every run with its active tasks, in portions; a run with many tasks comes repeatedly.

    Runs and tasks that end in the meantime may still be included.
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


TICK_SECONDS = 5.0
LONGEST_ERROR = 300
IsOutage = Callable[[BaseException], bool]


def never(_error: BaseException) -> bool:
    """Say that no error is an outage: for jobs without a database."""
    return False


class JobPlace(enum.StrEnum):
    """Which processes run a job."""

    PRIMARY = "primary"
    ANY = "any"


@dataclass(slots=True)
class PeriodicJob:
    """Work that is repeated every `seconds`, and how it went so far.

    The work must declare the domain that it runs in, or the app does not start.
    """

    name: str
    seconds: float
    work: Callable[[], Awaitable[None]]
    where: JobPlace = JobPlace.ANY
    due: float = field(default=0.0)
    done: int = 0
    failed: int = 0
    spent_seconds: float = 0.0
    ended: datetime | None = None
    """When the work last succeeded or failed."""
    error: str = ""
    """The error of the last failure; empty after a success."""

    def plan_next(self, began: float, ended: float) -> None:
        """Schedule the next call, counted from the start of this one, so that a short job does not
        miss its next tick. A long job rests for half its interval."""
        self.due = max(began + self.seconds - TICK_SECONDS / 10, ended + self.seconds / 2)


@asynccontextmanager
async def run_jobs(
    fleet: Fleet, jobs: Iterable[PeriodicJob], log: Log, is_outage: IsOutage = never
) -> AsyncIterator[None]:
    """Run the jobs for the length of the block; jobs of the primary only while this process is
    primary."""
    task = asyncio.create_task(_work(fleet.primary, tuple(jobs), log, is_outage), name="fleet jobs")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


async def _work(
    primary: Primary, jobs: tuple[PeriodicJob, ...], log: Log, is_outage: IsOutage
) -> None:
    clock = primary.clock
    for job in jobs:
        job.due = clock.seconds() + job.seconds
    # Jobs run beside one another, so that a long one does not make the server seem unreachable.
    under_way: set[asyncio.Task[None]] = set()
    try:
        while True:
            await asyncio.sleep(TICK_SECONDS)
            for job in jobs:
                if job.where is JobPlace.PRIMARY and not primary.is_serving:
                    continue
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


async def _do(clock: Clock, job: PeriodicJob, log: Log, is_outage: IsOutage) -> None:
    began = clock.seconds()
    await attempt(job, log, is_outage)
    job.spent_seconds += clock.seconds() - began
    job.ended = clock.now()
    job.plan_next(began, clock.seconds())


async def attempt(job: PeriodicJob, log: Log, is_outage: IsOutage = never) -> None:
    """Run a job once and log the outcome. A failed job is tried again at its next turn; an
    unavailable database does not count as a failure."""
    try:
        await job.work()
    except (Rebuilding, StateLost, QueueFull, RunFault) as error:
        log.info("job_put_off", job=job.name, why=type(error).__name__)
    except Exception as error:
        if is_outage(error):
            log.warning("job_put_off", job=job.name, why=repr(error))
            return
        job.failed += 1
        job.error = repr(error)[:LONGEST_ERROR]
        log.error("job_failed", job=job.name, error=repr(error), exc_info=error)
    else:
        job.done += 1
        job.error = ""
