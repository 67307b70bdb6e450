"""Reads of the fleet, from memory first, then from rows; only committed state is shown. A process
that is not primary reads rows only."""

import asyncio
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from rookery.core.errors import NotThere
from rookery.core.model.machine import Machine
from rookery.core.model.run import FOREIGN_TASK, Run, RunFault
from rookery.core.model.task import Task, TaskKey
from rookery.core.stats.residuals import Colour
from rookery.server.farm.copies import FleetCopy
from rookery.server.farm.primary import Primary
from rookery.server.farm.published import InThread
from rookery.server.farm.rules.answers import HeldTask, MachineBlock
from rookery.server.farm.rules.diagnosis import STILL_THERE, FleetView, RunDiagnosis, diagnose
from rookery.server.farm.rules.machines import MachineState
from rookery.server.farm.rules.working_set import WorkingSet

MACHINES_AT_ONCE = 500


class UnknownRun(NotThere, RunFault):
    """there is no run {run}"""


class UnknownTask(NotThere, RunFault):
    """run {run} has no task {task}"""


class UnknownMachine(NotThere, RunFault):
    """there is no machine {machine}"""


@dataclass(frozen=True, slots=True)
class RunSpeed:
    """How fast a run progresses, measured once a minute."""

    nps: float = 0.0
    games_per_minute: float = 0.0


NO_SPEED = RunSpeed()


@dataclass(slots=True)
class FleetActivity:
    """Figures about the fleet that jobs compute periodically, for display."""

    speeds: Mapping[str, RunSpeed] = field(default_factory=dict)
    """The speed of each run, measured once a minute."""
    user_paces: Mapping[str, float] = field(default_factory=dict)
    """The games per minute of each user's machines, measured once a minute."""
    waiting_machines: int = 0
    """The number of machines that asked for a task and got none, counted once a minute."""
    residual_colours: Mapping[TaskKey, Colour] = field(default_factory=dict)
    """How the results of active tasks compare with those of others on the same run, judged once a
    minute; tasks with too few results are left out."""
    since: datetime | None = None
    """When the primary published these figures; None in the primary."""

    def speed(self, run_id: str) -> RunSpeed:
        """Return the speed of a run; zero until the first measurement."""
        return self.speeds.get(run_id, NO_SPEED)


class KnownMachine(NamedTuple):
    """A machine as it last described itself: when it last asked for a task, when it last gave any
    sign of life, and its present task; for a waiting machine also the run that it played last, if
    known."""

    machine: Machine
    asked: datetime
    heard: datetime
    task: Task | None = None
    last_run: str = ""

    @property
    def run(self) -> str:
        """The run that it plays now; empty if none."""
        return self.task.run if self.task else ""

    def activity(self, now: datetime) -> str:
        """`playing`; else `waiting`, or `away` if it has given no sign of life recently."""
        if self.task:
            return "playing"
        return "waiting" if self.heard >= now - STILL_THERE else "away"


def _describe_known(working: WorkingSet, state: MachineState) -> KnownMachine:
    key = state.task
    task = working.task(key) if key else None
    if key is None or task is None:
        return KnownMachine(state.machine, state.asked, state.asked, last_run=state.last)
    heard = working.last_seen.get(key) or task.reported
    return KnownMachine(state.machine, state.asked, max(heard, state.asked), task)


class FleetViews:
    """Reads runs, tasks and machines in committed state: the primary from memory, other processes
    from rows."""

    def __init__(self, primary: Primary, in_thread: InThread) -> None:
        self._primary = primary
        self._copy = FleetCopy(primary.reads, primary.clock, in_thread)

    def present(self, run_id: str) -> Run | None:
        """Return an unfinished run as it is in memory, perhaps not committed yet: for answers that
        wait for their commit anyway. None also in a process that is not primary."""
        term = self._primary.present_term()
        return None if term is None else term.working.runs().get(run_id)

    async def run(self, run_id: str) -> Run | None:
        term, found = self._primary.present_term(), None
        if term is not None:
            found = term.working.runs().get(run_id)
            await self._primary.wait_committed(term)
        return found or await self._primary.reads.run(run_id)

    async def known_run(self, run_id: str) -> Run:
        """Return the run; raise UnknownRun."""
        run = await self.run(run_id)
        if run is None:
            raise UnknownRun(run=run_id)
        return run

    async def active(self) -> tuple[Run, ...]:
        """All unfinished runs."""
        term = self._primary.present_term()
        if term is None:
            return await self._copy.unfinished.load()
        found = tuple(term.working.runs().values())
        await self._primary.wait_committed(term)
        return found

    async def task(self, run_id: str, task_id: int) -> Task | None:
        term, found = self._primary.present_term(), None
        if term is not None:
            found = term.working.task((run_id, task_id))
            await self._primary.wait_committed(term)
        return found or await self._primary.reads.task(run_id, task_id)

    async def task_page(self, run_id: str, first: int, count: int) -> tuple[Task, ...]:
        """Up to `count` tasks of a run, from number `first` on; a run may have a hundred
        thousand."""
        if (term := self._primary.present_term()) is not None:
            await self._primary.wait_committed(term)
        return await self._primary.reads.task_page(run_id, first, count)

    async def tasks_at_play(self, runs: Collection[str] | None = None) -> tuple[Task, ...]:
        """Return the active tasks of these runs, or of all."""
        term = self._primary.present_term()
        if term is None:
            return await self._primary.reads.tasks_at_play(runs)
        ids = list(term.working.runs()) if runs is None else runs
        found = tuple(task for each in ids for task in term.working.tasks(each))
        await self._primary.wait_committed(term)
        return found

    async def own_task(self, call: HeldTask) -> Task:
        """Return the caller's task, active or not; raise UnknownRun, UnknownTask, or RunFault for
        another's task."""
        task = await self.task(call.run, call.task)
        if task is None:
            await self.known_run(call.run)
            raise UnknownTask(run=call.run, task=call.task)
        if not call.is_about(task):
            raise RunFault(FOREIGN_TASK)
        return task

    async def last_seen(self, tasks: Iterable[Task]) -> dict[TaskKey, datetime]:
        """When active tasks last gave a sign of life."""
        wanted = [(task.run, task.id) for task in tasks if task.active]
        heard = (await self._working()).last_seen if wanted else None
        found = ((key, heard.get(key) if heard else None) for key in wanted)
        return {key: at for key, at in found if at is not None}

    async def diagnosis(self, run_id: str) -> RunDiagnosis:
        """Why a run is not moving, or that it is."""
        run, now = await self.known_run(run_id), self._primary.clock.now()
        return diagnose(run, FleetView(await self._working(), now), now)

    async def machine(self, short_name: str) -> KnownMachine | None:
        """Return a machine that asked for a task recently."""
        working = await self._working()
        state = working.machines.get(short_name)
        return None if state is None else _describe_known(working, state)

    async def machines(self) -> tuple[KnownMachine, ...]:
        """All machines that asked for a task recently. There may be ten thousand, so the loop can
        run in between."""
        term, found = self._primary.present_term(), list[KnownMachine]()
        working = await self._working() if term is None else term.working
        states = tuple(working.machines.states())
        for start in range(0, len(states), MACHINES_AT_ONCE):
            part = states[start : start + MACHINES_AT_ONCE]
            found += [_describe_known(working, state) for state in part]
            await asyncio.sleep(0)
        if term is not None:
            await self._primary.wait_committed(term)
        return tuple(found)

    @property
    def machines_since(self) -> datetime | None:
        """When the activity that `machines` tells was published; None in the primary, where it is
        current."""
        return None if self._primary.present_term() else self._copy.machines_since

    async def blocks(self) -> dict[str, str]:
        """Blocked machines by short name, with the message each is given."""
        found = await self.whole_blocks()
        return {name: block.message or "" for name, block in found.items()}

    async def whole_blocks(self) -> dict[str, MachineBlock]:
        """All blocks by the machine's short name."""
        term = self._primary.present_term()
        if term is None:
            return await self._primary.reads.blocks()
        found = dict(term.working.machines.blocks)
        await self._primary.wait_committed(term)
        return found

    async def _working(self) -> WorkingSet:
        """Return the working set, for reads that need not wait for a commit."""
        term = self._primary.present_term()
        return await self._copy.working() if term is None else term.working


async def find_waiting_machines(working: WorkingSet, now: datetime) -> list[Machine]:
    """Return the machines that asked for a task not long ago and found none."""
    waiting, names = list[Machine](), working.machines.names()
    for start in range(0, len(names), MACHINES_AT_ONCE):
        part = names[start : start + MACHINES_AT_ONCE]
        waiting += working.machines.waiting(part, now - STILL_THERE, working.task)
        await asyncio.sleep(0)
    return waiting
