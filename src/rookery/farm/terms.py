"""A term of being primary: the working set with its commits, what acts on it, and where its rows
are."""

import asyncio
from collections.abc import Callable, Coroutine
from datetime import datetime
from typing import Any, Protocol, TypeVar

from rookery.farm.command_keys import present_key
from rookery.farm.commits import CommitQueue, CommitStats
from rookery.farm.reads import FleetReads
from rookery.rules.answers import Changes, Decision, DoneCommand
from rookery.rules.assignment import Scheduler
from rookery.rules.eligibility import Policy
from rookery.rules.observations import ChartSampling
from rookery.rules.purge import Purging
from rookery.rules.reception import Reception
from rookery.rules.working_set import WorkingSet

A = TypeVar("A")
MOST_DONE = 10_000
"""Commands that a term remembers; rows know them for a day."""


class PrimaryTerm:
    """The working set from taking the fence until a commit fails, and how much of what happened
    to it is committed. Nobody uses it afterwards."""

    def __init__(self, working: WorkingSet, commits: CommitQueue, policy: Policy) -> None:
        self.working = working
        self.scheduler = Scheduler(working, policy)
        self.reception = Reception(working, policy)
        self.sampling = ChartSampling()
        self._commits = commits
        self._put = 0
        self._done: dict[str, DoneCommand] = {}

    def seals(self) -> set[str]:
        """Of the credentials with which the active tasks were taken."""
        runs = self.working.runs()
        return {task.machine.seal for run_id in runs for task in self.working.tasks(run_id)}

    def find_done(self) -> str | None:
        """The run that this task's command was about, where it was carried out before; an empty
        one for what is about no run."""
        key = present_key()
        done = None if key is None or key.used else self._done.get(key.text)
        return None if done is None else done.run

    def find_command(self, key: str) -> DoneCommand | None:
        """The command with this key, where it was carried out."""
        return self._done.get(key)

    def note_done(self, done: DoneCommand) -> None:
        """This command has been carried out, at least in memory."""
        self._done[done.key] = done
        if len(self._done) > MOST_DONE:
            del self._done[next(iter(self._done))]

    def check_capacity(self) -> None:
        """Raises QueueFull or StateLost; to be asked before anything is changed."""
        self._commits.check_capacity()

    def put(self, changes: Changes) -> None:
        """Into the next commit; raises StateLost."""
        self._put = self._commits.put(changes)

    def committed(self) -> asyncio.Future[bool] | None:
        """Whether everything that happened so far is committed, once that is known; None where it
        is by now. A waiter that is cancelled leaves; the commit goes on without it."""
        return self._commits.committed(self._put)


Act = Callable[[PrimaryTerm, datetime], Decision[A]]
"""Looks at the working set, changes it, and says what came of it; never awaits anything."""
StartPurge = Callable[[Purging], Coroutine[Any, Any, None]]


Opened = Callable[[PrimaryTerm], object]


class Store(Protocol):
    """Where the fleet's rows are."""

    @property
    def reads(self) -> FleetReads: ...

    async def take(self) -> CommitQueue:
        """Ends the commits given before and takes the fence anew; raises while it can't."""
        ...

    async def publish(self, part: str, body: bytes | None) -> None:
        """Shows other processes what only memory has; None: what was shown before still holds."""
        ...

    def abandon(self, reason: str) -> None:
        """Tells all who wait for a commit that nobody knows what becomes of it."""
        ...

    async def close(self) -> None:
        """Writes what was put and ends."""
        ...

    def stats(self) -> CommitStats:
        """What the present commits have done so far."""
        ...
