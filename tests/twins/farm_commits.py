"""What the fleet's store in memory holds, and its group commit.

A commit takes one turn of the loop. A test may hold commits back, let them go on, or lose them as
a database would that broke during one.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime

from rookery.farm.commits import CommitListener, QueueFull, StateLost
from rookery.model.events import Event
from rookery.model.run import Run
from rookery.model.task import PlayedBatch, Task, TaskKey
from rookery.rules.answers import Changes, ChartPoint, DoneCommand, MachineBlock, MachineHistory
from rookery.rules.observations import chart_period, chart_place
from rookery.rules.purge import BadTask, Purging

MOST_CHANGES = 20_000


@dataclass(slots=True)
class MemoryRows:
    """What has been committed."""

    runs: dict[str, Run] = field(default_factory=dict)
    tasks: dict[TaskKey, Task] = field(default_factory=dict)
    bad: dict[TaskKey, BadTask] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    samples: dict[str, dict[int, ChartPoint]] = field(default_factory=dict)
    provenance: list[PlayedBatch] = field(default_factory=list)
    blocks: dict[str, MachineBlock] = field(default_factory=dict)
    recalled: dict[str, MachineHistory] = field(default_factory=dict)
    published: dict[str, bytes] = field(default_factory=dict)
    seen: dict[TaskKey, datetime] = field(default_factory=dict)
    purging: dict[str, Purging] = field(default_factory=dict)
    done: dict[str, DoneCommand] = field(default_factory=dict)
    """The runs of commands, by their keys."""
    file_access: dict[str, str] = field(default_factory=dict)
    """By file, the engine it was given for."""
    sequence: int = 0
    sequences: dict[str, int] = field(default_factory=dict)
    """By run, the last commit that changed it."""

    def write(self, changes: Changes) -> set[str]:
        """Gives the runs that were changed."""
        self.runs |= {run.id: run for run in changes.runs}
        self.tasks |= {(task.run, task.id): task for task in changes.tasks}
        for closing in changes.closings:
            self._close((closing.run, task.id) for task in closing.tasks)
        self.events += changes.events
        self.provenance += changes.provenance
        self.bad |= {(each.task.run, each.task.id): each for each in changes.bad}
        self.recalled |= {each.short_name: each for each in changes.recalled}
        self.seen |= {(each.run, each.task): each.at for each in changes.seen}
        for block in changes.blocks:
            self.blocks.pop(block.short_name, None)
            if block.message is not None:
                self.blocks[block.short_name] = block
        self.purging |= {each.run: each for each in (*changes.purges, *changes.purging)}
        for run_id in changes.purged:
            self.purging.pop(run_id, None)
        self.done |= {each.key: each for each in changes.done}
        for sample in changes.samples:
            self._thin(sample)
        self.sequence += 1
        self.sequences |= {run.id: self.sequence for run in changes.runs}
        return {run.id for run in changes.runs} | {task.run for task in changes.tasks}

    def _close(self, keys: Iterable[TaskKey]) -> None:
        for key in keys:
            self.tasks[key] = self.tasks[key].closed()

    def _thin(self, sample: ChartPoint) -> None:
        places = self.samples.setdefault(sample.run, {})
        places[chart_place(sample)] = sample
        for each in [each for each in places if each % chart_period(sample.games)]:
            del places[each]

    def of_run(self, run_id: str) -> list[Task]:
        return sorted(
            (task for task in self.tasks.values() if task.run == run_id), key=lambda task: task.id
        )


class MemoryCommits:
    """The group commit; see the module's text for what a test may do with it."""

    def __init__(
        self,
        rows: MemoryRows,
        *,
        most_changes: int = MOST_CHANGES,
        lost: Callable[[str], object] = lambda _reason: None,
        listeners: Collection[CommitListener] = (),
    ) -> None:
        self._rows = rows
        self._listeners = listeners
        self._most_changes = most_changes
        self._lost = lost
        self._queue: list[Changes] = []
        self._issued = self._committed = rows.sequence
        self._broken = False
        self._going = asyncio.Event()
        self._going.set()

    def check_capacity(self) -> None:
        if self._broken:
            raise StateLost
        if len(self._queue) >= self._most_changes:
            raise QueueFull

    def put(self, changes: Changes) -> int:
        if self._broken:
            raise StateLost
        self._queue.append(changes)
        self._issued += 1
        return self._issued

    def committed(self, sequence: int) -> asyncio.Future[bool] | None:
        if sequence <= self._committed:
            return None
        return asyncio.ensure_future(self._is_committed(sequence))

    async def _is_committed(self, sequence: int) -> bool:
        try:
            await self.wait_committed(sequence)
        except StateLost:
            return False
        return True

    async def wait_committed(self, sequence: int) -> None:
        assert sequence <= self._issued
        while sequence > self._committed:
            if self._broken:
                raise StateLost
            await asyncio.sleep(0)
            await self._going.wait()
            self._flush()

    def hold(self) -> None:
        """From now on nothing is committed."""
        self._going.clear()

    def release(self) -> None:
        self._flush()
        self._going.set()

    def lose(self, reason: str = "lost on purpose") -> None:
        """The commit under way fails: all that waits is lost."""
        self._queue.clear()
        self._broken = True
        self._going.set()
        self._lost(reason)

    def _flush(self) -> None:
        for changes in self._queue:
            changed = self._rows.write(changes)
            for listener in self._listeners:
                listener.add(self._rows.sequence, changed)
        self._queue.clear()
        if not self._broken:
            self._committed = self._issued
