"""The fleet as a process knows it that is not primary: from rows, which hold what is committed.

Theory of operation. Every run's row has the number of the commit that changed it last. So the
unfinished runs are read once and then kept: whoever asks for them has the numbers compared, and
only what changed since is read again. An answer is thus as new as the question, and two questions
in a row cost two short queries. What else the primary has in memory (who plays what, which machine
knows which run) is put together from rows as a new primary would do it, at most every few seconds.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from rookery.caches import ExpiringCache, SharedWork
from rookery.clock import Clock
from rookery.farm.published import InThread, PublishedMachines, decode_machines
from rookery.farm.reads import MACHINES, FleetReads
from rookery.model.run import Run
from rookery.model.task import Task
from rookery.rules.assignment import shares
from rookery.rules.working_set import WorkingSet

MOST_CHANGED = 500
"""More than these are read all anew."""
WORKING_SECONDS = 5.0
SHARE_SECONDS = 60.0
NOTHING_READ = -1


class UnfinishedRuns:
    """All unfinished runs, as new as the moment somebody asks. The event loop alone uses it."""

    def __init__(self, reads: FleetReads, clock: Clock) -> None:
        self._reads = reads
        self._clock = clock
        self._shared = float("-inf")
        self._runs: dict[str, Run] = {}
        self._sequence = NOTHING_READ
        self._one_at_a_time = asyncio.Lock()

    async def load(self) -> tuple[Run, ...]:
        async with self._one_at_a_time:
            await self._catch_up()
            return tuple(self._runs.values())

    async def _catch_up(self) -> None:
        found = await self._reads.changed(self._sequence, MOST_CHANGED)
        went_back = found.sequence < self._sequence
        if self._sequence == NOTHING_READ or went_back or not found.complete:
            self._runs, self._shared = {}, float("-inf")
            self._learn(await self._reads.unfinished())
        elif found.runs:
            self._learn(await self._reads.runs(found.runs))
        self._sequence = found.sequence
        if self._clock.seconds() >= self._shared + SHARE_SECONDS:
            self._shared = self._clock.seconds()
            found_shares = shares(self._runs.values())
            self._runs = {key: run.with_share(found_shares[key]) for key, run in self._runs.items()}

    def _learn(self, runs: Iterable[Run]) -> None:
        """With their shares of before, which are worked out now and then and not stored."""
        for run in runs:
            former = self._runs.get(run.id)
            if not run.status.finished:
                self._runs[run.id] = run.with_share(former.share) if former else run
            elif former:
                del self._runs[run.id]


class FleetCopy:
    """What the rows say of the fleet. The event loop alone uses it."""

    def __init__(self, reads: FleetReads, clock: Clock, in_thread: InThread) -> None:
        self.unfinished = UnfinishedRuns(reads, clock)
        self._reads = reads
        self._clock = clock
        self._in_thread = in_thread
        self._kept: ExpiringCache[str, WorkingSet] = ExpiringCache(clock, 1)
        self._work: SharedWork[str, WorkingSet] = SharedWork()
        self.machines_since: datetime | None = None
        """When the primary told what machines do, as the working set has it."""

    async def working(self) -> WorkingSet:
        """A working set to look at, a few seconds old; nobody may change it."""
        return self._kept.get("") or await self._work("", self._fill)

    async def _fill(self) -> WorkingSet:
        tasks: defaultdict[str, list[Task]] = defaultdict(list)
        for task in await self._reads.tasks_at_play():
            tasks[task.run].append(task)
        working = WorkingSet()
        for run in await self.unfinished.load():
            working.admit(run, tasks[run.id], self._clock.now())
            for task in tasks[run.id]:
                working.last_seen.note((task.run, task.id), task.reported)
            await asyncio.sleep(0)
        working.machines.blocks.update(await self._reads.blocks())
        for past in await self._reads.recalled():
            working.machines.restore(past.short_name, past.seen, past.last)
        found = await self._reads.published(MACHINES)
        if found is not None and (body := found.body) is not None:
            self.machines_since = self._clock.now() - timedelta(seconds=found.age)
            _learn_published(working, await self._in_thread(lambda: decode_machines(body)))
        self._kept.put("", working, WORKING_SECONDS)
        return working


def _learn_published(working: WorkingSet, published: PublishedMachines) -> None:
    """What the primary heard of tasks since rows were written, and the machines that wait."""
    for key, at in published.seen.items():
        if working.task(key) is not None:
            working.last_seen.note(key, at)
    for each in published.waiting:
        if working.task_at(each.machine.short_name) is None:
            asked = datetime.fromtimestamp(each.asked, UTC)
            state = working.machines.note_request(each.machine, asked)
            state.last = each.last
            state.failed = {run: datetime.fromtimestamp(at, UTC) for run, at in each.failed.items()}
