"""What may be seen of the fleet: memory first, then rows; only what is committed is shown."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from rookery.farm.primary import Primary
from rookery.model.machine import Machine
from rookery.model.run import ForeignTask, Run, RunFault
from rookery.model.task import Task
from rookery.rules.answers import HeldTask
from rookery.rules.diagnosis import FleetView, RunDiagnosis, diagnose


class UnknownRun(RunFault):
    """there is no run {run}"""


class UnknownTask(RunFault):
    """run {run} has no task {task}"""


class UnknownMachine(RunFault):
    """there is no machine {machine}"""


@dataclass(frozen=True, slots=True)
class RunSpeed:
    """How fast a run moves, as worked out once a minute."""

    nps: float = 0.0
    games_per_minute: float = 0.0


NO_SPEED = RunSpeed()


@dataclass(slots=True)
class FleetActivity:
    """Figures about the fleet that jobs work out every so often, for display."""

    speeds: Mapping[str, RunSpeed] = field(default_factory=dict)
    """By run, once a minute."""
    user_paces: Mapping[str, float] = field(default_factory=dict)
    """Games a minute that users' machines play now, once a minute."""
    waiting_machines: int = 0
    """Those that asked and got nothing, twice a minute."""

    def speed(self, run_id: str) -> RunSpeed:
        """How fast a run moves; known a minute after it began."""
        return self.speeds.get(run_id, NO_SPEED)


@dataclass(frozen=True, slots=True)
class KnownMachine:
    """A machine as it described itself last, when it last asked for a task, and the run it plays
    now; empty for none."""

    machine: Machine
    asked: datetime
    run: str


class FleetViews:
    """Reads of runs, tasks and machines that return committed state only."""

    def __init__(self, primary: Primary) -> None:
        self._primary = primary

    def present(self, run_id: str) -> Run | None:
        """An unfinished run as it is in memory: for what is told to nobody before it is
        committed."""
        return self._primary.term().working.runs().get(run_id)

    async def run(self, run_id: str) -> Run | None:
        term = self._primary.term()
        found = term.working.runs().get(run_id)
        await self._primary.wait_committed(term)
        return found or await self._primary.reads.run(run_id)

    async def known_run(self, run_id: str) -> Run:
        """Raises UnknownRun."""
        run = await self.run(run_id)
        if run is None:
            raise UnknownRun(run=run_id)
        return run

    async def active(self) -> tuple[Run, ...]:
        """All unfinished runs."""
        term = self._primary.term()
        found = tuple(term.working.runs().values())
        await self._primary.wait_committed(term)
        return found

    async def task(self, run_id: str, task_id: int) -> Task | None:
        term = self._primary.term()
        found = term.working.task((run_id, task_id))
        await self._primary.wait_committed(term)
        return found or await self._primary.reads.task(run_id, task_id)

    async def task_page(self, run_id: str, first: int, count: int) -> tuple[Task, ...]:
        """Tasks of a run from a number on; it may have a hundred thousand."""
        await self._primary.wait_committed(self._primary.term())
        return await self._primary.reads.task_page(run_id, first, count)

    async def tasks_at_play(self, run_id: str = "") -> tuple[Task, ...]:
        """The active tasks of a run, or of all runs."""
        term = self._primary.term()
        runs = [run_id] if run_id else list(term.working.runs())
        found = tuple(task for each in runs for task in term.working.tasks(each))
        await self._primary.wait_committed(term)
        return found

    async def own_task(self, call: HeldTask) -> Task:
        """The caller's task, active or not; raises UnknownRun, UnknownTask or ForeignTask."""
        task = await self.task(call.run, call.task)
        if task is None:
            await self.known_run(call.run)
            raise UnknownTask(run=call.run, task=call.task)
        if (task.machine.key, task.machine.user) != (call.machine.key, call.machine.user):
            raise ForeignTask
        return task

    def last_seen(self, run_id: str, task_id: int) -> datetime | None:
        """When an active task last gave a sign of life."""
        return self._primary.term().working.last_seen.get((run_id, task_id))

    async def diagnosis(self, run_id: str) -> RunDiagnosis:
        """Why a run is not moving, or that it is."""
        run, now = await self.known_run(run_id), self._primary.clock.now()
        return diagnose(run, FleetView(self._primary.term().working, now), now)

    def machine(self, short_name: str) -> KnownMachine | None:
        """A machine that asked for a task not long ago."""
        working = self._primary.term().working
        state, task = working.machines.get(short_name), working.task_at(short_name)
        if state is None:
            return None
        return KnownMachine(state.machine, state.asked, task.run if task else "")

    async def blocks(self) -> dict[str, str]:
        """Blocked machines by short name, with the message each is given."""
        term = self._primary.term()
        found = dict(term.working.machines.blocks)
        await self._primary.wait_committed(term)
        return found
