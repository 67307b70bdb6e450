"""The rows of the fleet's store in memory, and its group commit.

A commit takes one turn of the loop. A test may hold commits back, release them, or lose them like a
database that fails during a commit.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime

from rookery.core.model.events import Event
from rookery.core.model.run import Run
from rookery.core.model.task import PlayedBatch, Task, TaskKey
from rookery.server.farm.commits import CommitListener, QueueFull, StateLost
from rookery.server.farm.rules.answers import (
    Changes,
    ChartPoint,
    DoneCommand,
    MachineBlock,
    MachineHistory,
)
from rookery.server.farm.rules.observations import chart_period, chart_place
from rookery.server.farm.rules.purge import BadTask, Purging

MOST_CHANGES = 20_000


@dataclass(slots=True)
class MemoryRows:
    """The committed rows."""

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
    """The commands that were carried out, by key."""
    file_access: dict[str, str] = field(default_factory=dict)
    """The engine of each file."""
    sequence: int = 0
    sequences: dict[str, int] = field(default_factory=dict)
    """The last commit that changed each run."""

    def write(self, changes: Changes) -> set[str]:
        """Writes changes; returns the runs that changed."""
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
    """The group commit in memory; the module's docstring says what a test may do with it."""

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
        """Holds all further commits back."""
        self._going.clear()

    def release(self) -> None:
        self._flush()
        self._going.set()

    def lose(self, reason: str = "lost on purpose") -> None:
        """Lets the commit in progress fail, so that everything that waits is lost."""
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
