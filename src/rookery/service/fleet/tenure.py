"""A tenure: the working set under one fence, and how much of what happened to it is committed."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from rookery.core.reception import Reception
from rookery.core.scheduling.assignment import Assignment
from rookery.core.scheduling.policy import Policy
from rookery.core.workingset import WorkingSet
from rookery.service.fleet.ports import Batch, Commits
from rookery.service.fleet.sampling import Sampling

A = TypeVar("A")

NOTHING = Batch()


class Tenure:
    """Lives until a commit fails; nobody uses what is in it afterwards."""

    def __init__(self, working: WorkingSet, commits: Commits, policy: Policy) -> None:
        self.working = working
        self.assignment = Assignment(working, policy)
        self.reception = Reception(working, policy)
        self.sampling = Sampling()
        self._commits = commits
        self._put = 0
        self._committed = 0

    def seals(self) -> set[str]:
        """Of the credentials with which the active tasks were taken."""
        runs = self.working.runs()
        return {task.machine.seal for run_id in runs for task in self.working.tasks(run_id)}

    def check_room(self) -> None:
        """Raises QueueFull; to be asked before anything is changed."""
        self._commits.check_room()

    def put(self, batch: Batch) -> None:
        self._put = self._commits.put(batch)

    async def settled(self) -> None:
        """Returns once everything that happened so far is committed; raises StateLost.

        A waiter that is cancelled leaves; the commit goes on without it.
        """
        awaited = self._put
        if awaited > self._committed:
            await self._commits.committed(awaited)
            self._committed = max(self._committed, awaited)


@dataclass(frozen=True, slots=True)
class Done(Generic[A]):
    """What to answer once what is to be written is committed."""

    answer: A
    batch: Batch = NOTHING


Act = Callable[[Tenure, datetime], Done[A]]
"""Looks at the working set, changes it, and says what came of it; never awaits anything."""
