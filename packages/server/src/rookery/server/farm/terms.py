"""A term of the primary: the working set with its commits and rules, and the interface to the
rows."""

import asyncio
from collections.abc import Callable, Coroutine
from datetime import datetime
from typing import Any, Protocol, TypeVar

from msgspec.structs import replace as with_fields

from rookery.core.model.kinds import Report
from rookery.core.model.machine import Machine
from rookery.server.farm.commits import CommitQueue, CommitStats
from rookery.server.farm.reads import FleetReads
from rookery.server.farm.rules.answers import (
    Changes,
    Decision,
    DoneCommand,
    Grant,
    HeldTask,
    NoTask,
    Refusal,
    TaskVerdict,
)
from rookery.server.farm.rules.assignment import Scheduler
from rookery.server.farm.rules.eligibility import Policy
from rookery.server.farm.rules.observations import ChartSampling
from rookery.server.farm.rules.purge import Purging
from rookery.server.farm.rules.reception import Reception
from rookery.server.farm.rules.working_set import WorkingSet
from rookery.server.http.command_keys import current_key

A = TypeVar("A")
MOST_DONE = 10_000
"""How many commands a term remembers; the rows keep them for a day."""


class PrimaryTerm:
    """The working set from taking the fence until a commit fails, with its pending commits. It is
    not used afterwards."""

    def __init__(self, working: WorkingSet, commits: CommitQueue, policy: Policy) -> None:
        self.working = working
        self.scheduler = Scheduler(working, policy)
        self.reception = Reception(working, policy)
        self.sampling = ChartSampling()
        self._commits = commits
        self._put = 0
        self._done: dict[str, DoneCommand] = {}

    def request_task(
        self, now: datetime, machine: Machine, limit: int
    ) -> Decision[Grant | NoTask | Refusal]:
        """Return an act: gives the machine a task, if there is one."""
        return self.scheduler.request(machine, now, limit=limit)

    def update_task(
        self, now: datetime, call: HeldTask, report: Report, find_nps: Callable[[str], float]
    ) -> Decision[TaskVerdict]:
        """Take a report, as an act. If a chart point is due, it gets the speed of the run."""
        done = self.reception.update(call, report, now)
        if not done.changes.runs:
            return done
        samples = self.sampling.take_due_points(done.changes.runs[-1], now, find_nps)
        if not samples:
            return done
        return Decision(done.answer, with_fields(done.changes, samples=samples))

    def seals(self) -> set[str]:
        """Return the seals of the credentials with which the active tasks were taken."""
        runs = self.working.runs()
        return {task.machine.seal for run_id in runs for task in self.working.tasks(run_id)}

    def find_done(self) -> str | None:
        """Return the id of the run that this task's command changed, if it was carried out before
        (empty if it concerns no run); else None."""
        key = current_key()
        done = None if key is None or key.used else self._done.get(key.text)
        return None if done is None else done.run

    def find_command(self, key: str) -> DoneCommand | None:
        """Return the command with this key, if this term knows it."""
        return self._done.get(key)

    def note_done(self, done: DoneCommand) -> None:
        """Remember a command as carried out, at least in memory."""
        self._done[done.key] = done
        if len(self._done) > MOST_DONE:
            del self._done[next(iter(self._done))]

    def check_capacity(self) -> None:
        """Raise QueueFull or StateLost; call it before changing anything."""
        self._commits.check_capacity()

    def put(self, changes: Changes) -> None:
        """Add changes to the next commit; raise StateLost."""
        self._put = self._commits.put(changes)

    def committed(self) -> asyncio.Future[bool] | None:
        """Return a future that tells whether everything put so far was committed; None if it
        already is. Cancelling it does not cancel the commit."""
        return self._commits.committed(self._put)


Act = Callable[[PrimaryTerm, datetime], Decision[A]]
"""A function that reads and changes the working set and returns its decision, without awaiting
anything."""
StartPurge = Callable[[Purging], Coroutine[Any, Any, None]]


Opened = Callable[[PrimaryTerm], object]


class Store(Protocol):
    """The fleet's rows, as the primary uses them."""

    @property
    def reads(self) -> FleetReads: ...

    async def take(self) -> CommitQueue:
        """End the previous commits and take the fence anew; raise while that is impossible."""
        ...

    async def publish(self, part: str, body: bytes | None) -> None:
        """Publish a part of memory for other processes; a body of None confirms the one published
        before."""
        ...

    def abandon(self, reason: str) -> None:
        """Fail all callers that wait for a commit, whose outcome is unknown."""
        ...

    async def close(self) -> None:
        """Write pending changes and end."""
        ...

    def stats(self) -> CommitStats:
        """Return the counters of the present group commit."""
        ...
