"""Looking at the fleet: memory first, then rows; nothing is shown before it is committed."""

from dataclasses import dataclass
from datetime import datetime

from rookery.core.answers import TaskCall
from rookery.core.faults import ForeignTask
from rookery.core.machine import Machine
from rookery.core.run import Run
from rookery.core.scheduling.diagnosis import Diagnosis, diagnose
from rookery.core.scheduling.fleet import Fleet as FleetView
from rookery.core.task import Task
from rookery.service.fleet.faults import UnknownRun, UnknownTask
from rookery.service.fleet.primary import Primary


@dataclass(frozen=True, slots=True)
class Pulse:
    """How fast a run moves, as worked out once a minute."""

    nps: float = 0.0
    games_per_minute: float = 0.0


STILL = Pulse()


@dataclass(frozen=True, slots=True)
class KnownMachine:
    """A machine as it described itself last, when it last asked for a task, and the run it plays
    now; empty for none."""

    machine: Machine
    asked: datetime
    run: str


class Views(Primary):
    """Reads that obey the same rule as answers do."""

    def present(self, run_id: str) -> Run | None:
        """An unfinished run as it is in memory: for what is told to nobody before it is settled."""
        return self.enter().working.runs().get(run_id)

    async def run(self, run_id: str) -> Run | None:
        tenure = self.enter()
        found = tenure.working.runs().get(run_id)
        await self.settle(tenure)
        return found or await self._store.reads.run(run_id)

    async def known_run(self, run_id: str) -> Run:
        """Raises UnknownRun."""
        run = await self.run(run_id)
        if run is None:
            raise UnknownRun(run=run_id)
        return run

    async def active(self) -> tuple[Run, ...]:
        """All unfinished runs."""
        tenure = self.enter()
        found = tuple(tenure.working.runs().values())
        await self.settle(tenure)
        return found

    async def task(self, run_id: str, task_id: int) -> Task | None:
        tenure = self.enter()
        found = tenure.working.task((run_id, task_id))
        await self.settle(tenure)
        return found or await self._store.reads.task(run_id, task_id)

    async def task_page(self, run_id: str, first: int, count: int) -> tuple[Task, ...]:
        """Tasks of a run from a number on; it may have a hundred thousand."""
        await self.settle(self.enter())
        return await self._store.reads.task_page(run_id, first, count)

    def last_heard(self, run_id: str, task_id: int) -> datetime | None:
        """When an active task last gave a sign of life."""
        return self.enter().working.hearing.last((run_id, task_id))

    async def agrees(self, run_id: str) -> bool:
        """Whether what is stored of a run agrees with what is stored of its tasks."""
        return await self._store.reads.agrees(run_id)

    async def own_task(self, call: TaskCall) -> Task:
        """The caller's task, active or not; raises UnknownRun, UnknownTask or ForeignTask."""
        task = await self.task(call.run, call.task)
        if task is None:
            await self.known_run(call.run)
            raise UnknownTask(run=call.run, task=call.task)
        if (task.machine.key, task.machine.user) != (call.machine.key, call.machine.user):
            raise ForeignTask
        return task

    async def diagnosis(self, run_id: str) -> Diagnosis:
        """Why a run is not moving, or that it is."""
        run, now = await self.known_run(run_id), self.clock.now()
        return diagnose(run, FleetView(self.enter().working, now), now)

    def machine(self, short_name: str) -> KnownMachine | None:
        """A machine that asked for a task not long ago."""
        working = self.enter().working
        seat, task = working.roster.seat(short_name), working.task_at(short_name)
        if seat is None:
            return None
        return KnownMachine(seat.machine, seat.asked, task.run if task else "")

    async def blocks(self) -> dict[str, str]:
        """Blocked machines by short name, with the message each is given."""
        tenure = self.enter()
        found = dict(tenure.working.roster.blocks)
        await self.settle(tenure)
        return found
