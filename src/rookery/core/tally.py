"""The tally of a run: sums over its tasks, kept up to date in this one place, and who played."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

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


@dataclass(slots=True)
class _Played:
    machines: Counter[str] = field(default_factory=Counter)
    users: Counter[str] = field(default_factory=Counter)


class Players:
    """Who played how many of the games that count, by unfinished run; a part of the working set."""

    def __init__(self) -> None:
        self._by_run: dict[str, _Played] = {}

    def add(self, run_id: str, machine: str, user: str, games: int) -> None:
        """Machines go by their short names; games that count no longer are negative."""
        played = self._by_run.get(run_id)
        if played is None:
            played = self._by_run[run_id] = _Played()
        played.machines[machine] += games
        played.users[user] += games

    def most_of_a_machine(self, run_id: str) -> int:
        played = self._by_run.get(run_id)
        return max(played.machines.values(), default=0) if played else 0

    def first_user(self, run_id: str) -> tuple[str, int]:
        """Whose machines played most, and how much."""
        played = self._by_run.get(run_id)
        if not played:
            return "", 0
        return max(played.users.items(), key=lambda each: each[1])

    def forget(self, run_id: str) -> None:
        self._by_run.pop(run_id, None)
