"""The rows of the in-memory twin: what has been committed."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from rookery.core.events import Event
from rookery.core.purge import BadTask, Purging
from rookery.core.run import Run
from rookery.core.task import Task, TaskKey
from rookery.service.fleet.ports import Batch, Provenance, Recalled, Sample
from rookery.storage.fleet.thinning import period, place


@dataclass(slots=True)
class MemoryRows:
    """What has been committed."""

    runs: dict[str, Run] = field(default_factory=dict)
    tasks: dict[TaskKey, Task] = field(default_factory=dict)
    bad: dict[TaskKey, BadTask] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    samples: dict[str, dict[int, Sample]] = field(default_factory=dict)
    provenance: list[Provenance] = field(default_factory=list)
    blocks: dict[str, str] = field(default_factory=dict)
    recalled: dict[str, Recalled] = field(default_factory=dict)
    seen: dict[TaskKey, datetime] = field(default_factory=dict)
    purging: dict[str, Purging] = field(default_factory=dict)
    holdings: dict[str, str] = field(default_factory=dict)
    """By file, the engine it was given for."""
    sequence: int = 0
    sequences: dict[str, int] = field(default_factory=dict)
    """By run, the last commit that changed it."""

    def write(self, batch: Batch) -> set[str]:
        """Gives the runs that were changed."""
        changes = batch.changes
        self.runs |= {run.id: run for run in changes.runs}
        self.tasks |= {(task.run, task.id): task for task in changes.tasks}
        for closing in changes.closings:
            self._close((closing.run, task.id) for task in closing.tasks)
        self.events += changes.events
        self.provenance += batch.provenance
        self.bad |= {(each.task.run, each.task.id): each for each in batch.bad}
        self.recalled |= {each.short_name: each for each in batch.recalled}
        self.seen |= {(each.run, each.task): each.at for each in batch.seen}
        for block in batch.blocks:
            self.blocks.pop(block.short_name, None)
            if block.message is not None:
                self.blocks[block.short_name] = block.message
        self.purging |= {each.run: each for each in (*changes.purges, *batch.purging)}
        for run_id in batch.purged:
            self.purging.pop(run_id, None)
        for sample in batch.samples:
            self._thin(sample)
        self.sequence += 1
        self.sequences |= {run.id: self.sequence for run in changes.runs}
        return {run.id for run in changes.runs} | {task.run for task in changes.tasks}

    def _close(self, keys: Iterable[TaskKey]) -> None:
        for key in keys:
            self.tasks[key] = self.tasks[key].closed()

    def _thin(self, sample: Sample) -> None:
        places = self.samples.setdefault(sample.run, {})
        places[place(sample)] = sample
        for each in [each for each in places if each % period(sample.games)]:
            del places[each]

    def of_run(self, run_id: str) -> list[Task]:
        return sorted(
            (task for task in self.tasks.values() if task.run == run_id), key=lambda task: task.id
        )
