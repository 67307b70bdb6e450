"""What one group commit writes: many batches, each row once with its last absolute value.

An increment would be wrong here: of one row that comes three times into a statement, one survives.
"""

from dataclasses import dataclass, field

from rookery.core.changes import Changes
from rookery.core.events import Event
from rookery.core.purge import BadTask, Purging
from rookery.core.run import Run
from rookery.core.task import Task, TaskKey
from rookery.service.fleet.ports import Batch, Block, Provenance, Sample
from rookery.storage.fleet.thinning import place


@dataclass(slots=True)
class Gathered:
    """Mutable: it is filled by whoever puts, and written by the one writer once it is closed."""

    changes: int = 0
    """How much was put; rows that come more than once count each time."""
    runs: dict[str, Run] = field(default_factory=dict)
    closed_below: dict[str, int] = field(default_factory=dict)
    """Per run that ended, also if it was opened again since: which of its tasks ended with it."""
    tasks: dict[TaskKey, Task] = field(default_factory=dict)
    bad: dict[TaskKey, BadTask] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    samples: dict[tuple[str, int], Sample] = field(default_factory=dict)
    provenance: list[Provenance] = field(default_factory=list)
    blocks: dict[str, Block] = field(default_factory=dict)
    purging: dict[str, Purging | None] = field(default_factory=dict)
    """Purges that are due or under way, by run; None where one is over."""

    def add(self, batch: Batch) -> None:
        self._change(batch.changes)
        for bad in batch.bad:
            self.bad[bad.task.run, bad.task.id] = bad
        for sample in batch.samples:
            self.samples[sample.run, place(sample)] = sample
        for block in batch.blocks:
            self.blocks[block.short_name] = block
        for purging in (*batch.changes.purges, *batch.purging):
            self.purging[purging.run] = purging
        self.purging |= dict.fromkeys(batch.purged)
        self.provenance += batch.provenance
        self.changes += 1 + len(batch.changes.tasks) + len(batch.changes.events)

    def _change(self, changes: Changes) -> None:
        for run in changes.runs:
            self.runs[run.id] = run
            if run.status.finished:
                self.closed_below[run.id] = run.tally.tasks
        for task in changes.tasks:
            self.tasks[task.run, task.id] = task
        self.events += changes.events

    def touched(self) -> set[str]:
        """The runs that somebody may want to look at again."""
        of_tasks = {run for run, _ in self.tasks}
        return self.runs.keys() | of_tasks | {event.run for event in self.events if event.run}
