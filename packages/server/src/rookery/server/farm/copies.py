"""The fleet as a process that is not primary sees it: read from rows, which hold committed state.

Theory of operation. Every run's row has the number of the commit that changed it last. The
unfinished runs are read once and kept; each later request compares these numbers and reads only the
runs that changed. The answer is as recent as the request, and two requests in a row cost two short
queries. The rest of the primary's memory (which machine plays what, which machines are known) is
rebuilt from rows, as a new primary would do it, at most every few seconds.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from rookery.core.clock import Clock
from rookery.core.model.run import Run
from rookery.core.model.task import Task
from rookery.server.caches import ExpiringCache, SharedWork
from rookery.server.farm.published import InThread, PublishedMachines, decode_machines
from rookery.server.farm.reads import MACHINES, FleetReads
from rookery.server.farm.rules.assignment import shares
from rookery.server.farm.rules.working_set import WorkingSet

MOST_CHANGED = 500
"""If more runs than this have changed, all are read again."""
WORKING_SECONDS = 5.0
SHARE_SECONDS = 60.0
NOTHING_READ = -1
TASKS_AT_ONCE = 5_000
"""How many tasks are gone through in one step of the loop."""


class UnfinishedRuns:
    """All unfinished runs, as recent as the request. Used only on the event loop."""

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
        """Take over runs that were read, and keep their former shares, which are not stored but
        computed now and then."""
        for run in runs:
            former = self._runs.get(run.id)
            if not run.status.finished:
                self._runs[run.id] = run.with_share(former.share) if former else run
            elif former:
                del self._runs[run.id]


class FleetCopy:
    """The fleet as read from rows. Used only on the event loop."""

    def __init__(self, reads: FleetReads, clock: Clock, in_thread: InThread) -> None:
        self.unfinished = UnfinishedRuns(reads, clock)
        self._reads = reads
        self._clock = clock
        self._in_thread = in_thread
        self._kept: ExpiringCache[str, WorkingSet] = ExpiringCache(clock, 1)
        self._work: SharedWork[str, WorkingSet] = SharedWork()
        self.machines_since: datetime | None = None
        """When the primary published the machines' activity that the working set contains."""

    async def working(self) -> WorkingSet:
        """Return a working set that is a few seconds old and must not be changed."""
        return self._kept.get("") or await self._work("", self._fill)

    async def _fill(self) -> WorkingSet:
        tasks: defaultdict[str, list[Task]] = defaultdict(list)
        for number, task in enumerate(await self._reads.tasks_at_play()):
            if not number % TASKS_AT_ONCE:
                await asyncio.sleep(0)
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
            await _learn_published(working, await self._in_thread(lambda: decode_machines(body)))
        self._kept.put("", working, WORKING_SECONDS)
        return working


async def _learn_published(working: WorkingSet, published: PublishedMachines) -> None:
    """Add what the primary published: signs of life since rows were written, and machines that
    wait."""
    for number, (key, at) in enumerate(published.seen.items()):
        if not number % TASKS_AT_ONCE:
            await asyncio.sleep(0)
        if working.task(key) is not None:
            working.last_seen.note(key, at)
    for each in published.waiting:
        if working.task_at(each.machine.short_name) is None:
            asked = datetime.fromtimestamp(each.asked, UTC)
            state = working.machines.note_request(each.machine, asked)
            state.last = each.last
            state.failed = {run: datetime.fromtimestamp(at, UTC) for run, at in each.failed.items()}
