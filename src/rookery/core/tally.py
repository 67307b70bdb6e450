"""The tally of a run: sums over its tasks, kept up to date in this one place."""

from collections.abc import Iterable
from dataclasses import dataclass

from rookery.core.results import NOTHING, Results, total
from rookery.core.task import Task


@dataclass(frozen=True, slots=True)
class Tally:
    """Workers and cores at play, games spoken for and handed out, and the results of all tasks."""

    workers: int = 0
    cores: int = 0
    committed: int = 0
    total: int = 0
    tasks: int = 0
    results: Results = NOTHING

    def opened(self, task: Task) -> "Tally":
        return Tally(
            self.workers + 1,
            self.cores + task.machine.cores,
            self.committed + task.games,
            self.total + task.games,
            self.tasks + 1,
            self.results,
        )

    def reported(self, before: Results, after: Results) -> "Tally":
        results = self.results + (after - before)
        return Tally(self.workers, self.cores, self.committed, self.total, self.tasks, results)

    def closed(self, task: Task) -> "Tally":
        """After an active task ended; the games it left unplayed are to be had again."""
        assert task.active
        return Tally(
            self.workers - 1,
            self.cores - task.machine.cores,
            self.committed + task.results.games - task.games,
            self.total,
            self.tasks,
            self.results,
        )

    def all_closed(self) -> "Tally":
        """After every active task ended at once: what counts is what was played."""
        return Tally(0, 0, self.results.games, self.total, self.tasks, self.results)

    def without(self, bad: Iterable[Task]) -> "Tally":
        """After the results of closed tasks were struck out."""
        struck = total(task.results for task in bad)
        return Tally(
            self.workers,
            self.cores,
            self.committed - struck.games,
            self.total,
            self.tasks,
            self.results - struck,
        )


EMPTY = Tally()


def recounted(tasks: Iterable[Task]) -> Tally:
    """The tally worked out anew from all tasks of a run: at start, and to check the kept one."""
    tasks = list(tasks)
    active = [task for task in tasks if task.active]
    return Tally(
        workers=len(active),
        cores=sum(task.machine.cores for task in active),
        committed=sum(task.committed for task in tasks),
        total=sum(task.games for task in tasks),
        tasks=len(tasks),
        results=total(task.results for task in tasks),
    )
