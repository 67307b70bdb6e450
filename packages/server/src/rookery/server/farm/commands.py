"""People's commands on runs and machines, carried out by the primary one after the other.

A run that is not in memory is read from its row. The row must not change between the read and the
command's change, so commands about the same run wait for one another; workers only change runs that
are in memory.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from rookery.core.model.actor import Actor
from rookery.core.model.events import Action, about_run, about_worker
from rookery.core.model.plan import Modification
from rookery.core.model.run import NOT_APPROVER, NotYours, Run, Status
from rookery.server.farm.primary import KeyedLocks, Primary
from rookery.server.farm.rules import lifecycle, working_set
from rookery.server.farm.rules.answers import NO_CHANGES, Changes, Decision, MachineBlock
from rookery.server.farm.rules.lifecycle import TransitionResult
from rookery.server.farm.terms import PrimaryTerm
from rookery.server.farm.views import FleetViews, UnknownMachine

Decide = Callable[[Run, datetime], TransitionResult]

LONGEST_BLOCK_MESSAGE = 500


class RunCommands:
    """Carries out people's commands; the rules decide who may do what."""

    def __init__(self, primary: Primary, views: FleetViews, locks: KeyedLocks) -> None:
        self._primary = primary
        self._views = views
        self._locks = locks

    async def submit(self, run: Run, *, approver: str = "") -> str:
        """Add a new run, approved at once if `approver` is given. Return its id, or the id of the
        run that the same command added before."""

        def submitted(term: PrimaryTerm, now: datetime) -> Decision[str]:
            if done := term.find_done():
                return Decision(done)
            taken = replace(run, status=Status(approver=approver)) if approver else run
            changes = working_set.submit(term.working, taken, now)
            if approver:
                event = about_run(Action.APPROVE_RUN, taken, approver, now, "approved")
                changes += Changes(events=(event,))
            return Decision(taken.id, changes)

        return await self._primary.answer(submitted)

    async def approve(self, run_id: str, actor: Actor) -> Run:
        """Approve a run for play; a run that is approved already stays as it is."""

        def approved(run: Run, now: datetime) -> TransitionResult:
            if run.status.approved and actor.approver and not run.status.finished:
                return TransitionResult(run)
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
            run_id, lambda run, now: lifecycle.modify(run, wanted, actor, now)
        )

    async def delete(self, run_id: str, actor: Actor) -> Run:
        return await self._carry_out(run_id, lambda run, now: lifecycle.delete(run, actor, now))

    async def restore(self, run_id: str, actor: Actor) -> Run:
        return await self._carry_out(run_id, lambda run, now: lifecycle.restore(run, actor, now))

    async def reopen(self, run_id: str, actor: Actor) -> Run:
        """Let a run continue that was stopped by hand or by an error."""

        def again(run: Run, now: datetime) -> TransitionResult:
            act = lifecycle.restart if run.status.failed else lifecycle.reopen
            return act(run, actor, now)

        return await self._carry_out(run_id, again)

    async def notify_changed(self, run_id: str) -> None:
        """Notify subscribers in every process of an unfinished run that something was found out
        about it, as if the run had changed."""

        def shown(term: PrimaryTerm, _now: datetime) -> Decision[None]:
            run = term.working.runs().get(run_id)
            return Decision(None, Changes(runs=(run,)) if run else NO_CHANGES)

        await self._primary.answer(shown)

    async def block(self, short_name: str, message: str | None, actor: Actor) -> None:
        """Block a machine from getting tasks; a `message` of None lifts the block.

        Owners may only block machines that have been seen here, so that nobody fills the list with
        invented names. Approvers may block any, and only approvers can lift their blocks. A command
        that changes nothing is not logged.
        """
        if not actor.approver and not short_name.startswith(f"{actor.name}-"):
            raise NotYours(NOT_APPROVER)

        def blocked(term: PrimaryTerm, now: datetime) -> Decision[None]:
            if term.find_done() is not None:
                return Decision(None)
            text = None if message is None else message[:LONGEST_BLOCK_MESSAGE]
            machines, blocks = term.working.machines, term.working.machines.blocks
            if not (actor.approver or short_name in blocks or machines.knows(short_name)):
                raise UnknownMachine(machine=short_name)
            known = blocks.get(short_name)
            if known is not None and known.is_approvers and not actor.approver:
                raise NotYours(
                    "an approver has blocked this machine, and only an approver can unblock it"
                )
            if _is_as_requested(known, text, actor):
                return Decision(None)
            block = MachineBlock(short_name, text, now, actor.name)
            if text is None:
                blocks.pop(short_name, None)
            else:
                blocks[short_name] = block
            word = "unblocked" if text is None else "blocked"
            event = about_worker(Action.BLOCK_WORKER, short_name, actor.name, now, word)
            return Decision(None, Changes(events=(event,), blocks=(block,)))

        await self._primary.answer(blocked)

    async def _carry_out(self, run_id: str, decide: Decide) -> Run:
        async with self._locks(run_id):
            since = self._primary.term()
            found = await self._views.known_run(run_id)

            def moved(term: PrimaryTerm, now: datetime) -> Decision[Run]:
                # The run may have continued or ended while its row was read.
                run = term.working.runs().get(run_id, found)
                if term.find_done() is not None:
                    return Decision(run)
                move = decide(run, now)
                if move.run is run and not move.events:
                    return Decision(run)
                changes = working_set.settle(term.working, move, now)
                return Decision(changes.runs[-1] if changes.runs else run, changes)

            return await self._primary.answer(moved, since=since)


def _is_as_requested(known: MachineBlock | None, text: str | None, actor: Actor) -> bool:
    """Whether the present block is already what the command asks for."""
    if known is None:
        return text is None
    # An approver who repeats an owner's block takes it over.
    is_taken_over = actor.approver and not known.is_approvers and known.actor != actor.name
    return known.message == text and not is_taken_over
