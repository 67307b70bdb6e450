"""Looking at the fleet: memory first, then rows; nothing is shown before it is committed."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from rookery.farm.ports import Batch, MachineBlock, UnknownMachine, UnknownRun, UnknownTask
from rookery.farm.primary import Done, KeyedLocks, Primary, PrimaryTerm
from rookery.model.events import Action, Event, about_run
from rookery.model.machine import Machine
from rookery.model.run import ForeignTask, NotApprover, Run, Status
from rookery.model.task import Task
from rookery.rules import commands, lifecycle
from rookery.rules import lifecycle as modification
from rookery.rules.answers import Changes, HeldTask
from rookery.rules.diagnosis import FleetView, RunDiagnosis, diagnose
from rookery.rules.lifecycle import Actor, Modification, Moved


@dataclass(frozen=True, slots=True)
class RunSpeed:
    """How fast a run moves, as worked out once a minute."""

    nps: float = 0.0
    games_per_minute: float = 0.0


NO_SPEED = RunSpeed()


@dataclass(frozen=True, slots=True)
class KnownMachine:
    """A machine as it described itself last, when it last asked for a task, and the run it plays
    now; empty for none."""

    machine: Machine
    asked: datetime
    run: str


class FleetViews(Primary):
    """Reads that obey the same rule as answers do."""

    def present(self, run_id: str) -> Run | None:
        """An unfinished run as it is in memory: for what is told to nobody before it is settled."""
        return self.enter().working.runs().get(run_id)

    async def run(self, run_id: str) -> Run | None:
        term = self.enter()
        found = term.working.runs().get(run_id)
        await self.settle(term)
        return found or await self._store.reads.run(run_id)

    async def known_run(self, run_id: str) -> Run:
        """Raises UnknownRun."""
        run = await self.run(run_id)
        if run is None:
            raise UnknownRun(run=run_id)
        return run

    async def active(self) -> tuple[Run, ...]:
        """All unfinished runs."""
        term = self.enter()
        found = tuple(term.working.runs().values())
        await self.settle(term)
        return found

    async def task(self, run_id: str, task_id: int) -> Task | None:
        term = self.enter()
        found = term.working.task((run_id, task_id))
        await self.settle(term)
        return found or await self._store.reads.task(run_id, task_id)

    async def task_page(self, run_id: str, first: int, count: int) -> tuple[Task, ...]:
        """Tasks of a run from a number on; it may have a hundred thousand."""
        await self.settle(self.enter())
        return await self._store.reads.task_page(run_id, first, count)

    def last_heard(self, run_id: str, task_id: int) -> datetime | None:
        """When an active task last gave a sign of life."""
        return self.enter().working.last_seen.get((run_id, task_id))

    async def agrees(self, run_id: str) -> bool:
        """Whether what is stored of a run agrees with what is stored of its tasks."""
        return await self._store.reads.agrees(run_id)

    async def own_task(self, call: HeldTask) -> Task:
        """The caller's task, active or not; raises UnknownRun, UnknownTask or ForeignTask."""
        task = await self.task(call.run, call.task)
        if task is None:
            await self.known_run(call.run)
            raise UnknownTask(run=call.run, task=call.task)
        if (task.machine.key, task.machine.user) != (call.machine.key, call.machine.user):
            raise ForeignTask
        return task

    async def diagnosis(self, run_id: str) -> RunDiagnosis:
        """Why a run is not moving, or that it is."""
        run, now = await self.known_run(run_id), self.clock.now()
        return diagnose(run, FleetView(self.enter().working, now), now)

    def machine(self, short_name: str) -> KnownMachine | None:
        """A machine that asked for a task not long ago."""
        working = self.enter().working
        state, task = working.machines.get(short_name), working.task_at(short_name)
        if state is None:
            return None
        return KnownMachine(state.machine, state.asked, task.run if task else "")

    async def blocks(self) -> dict[str, str]:
        """Blocked machines by short name, with the message each is given."""
        term = self.enter()
        found = dict(term.working.machines.blocks)
        await self.settle(term)
        return found


# Tasks at play, as lists show them; nothing is shown before it is committed.


async def tasks_at_play(fleet: Primary, run_id: str = "") -> tuple[Task, ...]:
    """The active tasks of a run, or of all runs."""
    term = fleet.enter()
    runs = [run_id] if run_id else list(term.working.runs())
    found = tuple(task for each in runs for task in term.working.tasks(each))
    await fleet.settle(term)
    return found


# What people do to runs and machines, carried out by the primary one after the other.
#
# A run that is not in memory is read from its row. What was read must still hold when it is
# changed, so that commands about the same run wait for one another; workers touch runs in memory
# only.

Decide = Callable[[Run, datetime], Moved]

LONGEST_BLOCK_MESSAGE = 500


class RunCommands(FleetViews):
    """Who may do what is for the core to say; here it is done."""

    _turns: KeyedLocks

    async def submit(self, run: Run, *, approver: str = "") -> None:
        """Take up a new run, approved at once where an approver is named."""

        def submitted(term: PrimaryTerm, now: datetime) -> Done[None]:
            taken = replace(run, status=Status(approver=approver)) if approver else run
            changes = commands.submit(term.working, taken, now)
            if approver:
                event = about_run(Action.APPROVE_RUN, taken, approver, now, "approved")
                changes += Changes(events=(event,))
            return Done(None, Batch(changes))

        await self.answer(submitted)

    async def approve(self, run_id: str, actor: Actor) -> Run:
        """Let a run be played; a run that may be already stays as it is."""

        def approved(run: Run, now: datetime) -> Moved:
            if run.status.approved and actor.approver and not run.status.finished:
                return Moved(run)
            return lifecycle.approve(run, actor, now)

        return await self._carry_out(run_id, approved)

    async def withdraw(self, run_id: str, actor: Actor) -> Run:
        return await self._carry_out(run_id, lambda run, now: lifecycle.withdraw(run, actor, now))

    async def stop(self, run_id: str, actor: Actor, message: str = "") -> Run:
        return await self._carry_out(
            run_id, lambda run, now: lifecycle.stop(run, actor, now, message)
        )

    async def modify(self, run_id: str, actor: Actor, wanted: Modification) -> Run:
        return await self._carry_out(
            run_id, lambda run, now: modification.modify(run, wanted, actor, now)
        )

    async def delete(self, run_id: str, actor: Actor) -> Run:
        return await self._carry_out(run_id, lambda run, now: lifecycle.delete(run, actor, now))

    async def restore(self, run_id: str, actor: Actor) -> Run:
        return await self._carry_out(run_id, lambda run, now: lifecycle.restore(run, actor, now))

    async def reopen(self, run_id: str, actor: Actor) -> Run:
        """Play on: a run stopped by hand, or one that an error stopped."""

        def again(run: Run, now: datetime) -> Moved:
            act = lifecycle.restart if run.status.failed else lifecycle.reopen
            return act(run, actor, now)

        return await self._carry_out(run_id, again)

    async def block(self, short_name: str, message: str | None, actor: Actor) -> None:
        """Give a machine no more tasks, for its owner's or an approver's reasons; None ends it.

        Owners block machines that have been here, so that nobody fills the list with names;
        approvers any. What is so already changes nothing and is not told.
        """
        if not actor.approver and not short_name.startswith(f"{actor.name}-"):
            raise NotApprover

        def blocked(term: PrimaryTerm, now: datetime) -> Done[None]:
            text = None if message is None else message[:LONGEST_BLOCK_MESSAGE]
            machines, blocks = term.working.machines, term.working.machines.blocks
            if not (actor.approver or short_name in blocks or machines.knows(short_name)):
                raise UnknownMachine(machine=short_name)
            if blocks.get(short_name) == text:
                return Done(None)
            if text is None:
                blocks.pop(short_name, None)
            else:
                blocks[short_name] = text
            word = "unblocked" if text is None else "blocked"
            event = Event(Action.BLOCK_WORKER, now, actor.name, "", "", word, worker=short_name)
            return Done(
                None,
                Batch(Changes(events=(event,)), blocks=(MachineBlock(short_name, text, now),)),
            )

        await self.answer(blocked)

    async def _carry_out(self, run_id: str, decide: Decide) -> Run:
        async with self._turns(run_id):
            found = await self.known_run(run_id)

            def moved(term: PrimaryTerm, now: datetime) -> Done[Run]:
                # It may have gone on while its row was read, or have ended.
                run = term.working.runs().get(run_id, found)
                move = decide(run, now)
                if move.run is run and not move.events:
                    return Done(run)
                changes = commands.settle(term.working, move, now)
                return Done(changes.runs[-1] if changes.runs else run, Batch(changes))

            return await self.answer(moved)
