"""What people do to runs and machines, carried out by the primary one after the other.

A run that is not in memory is read from its row. What was read must still hold when it is changed,
so that commands about the same run wait for one another; workers touch runs in memory only.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from rookery.farm.primary import KeyedLocks, Primary
from rookery.farm.terms import PrimaryTerm
from rookery.farm.views import FleetViews, UnknownMachine
from rookery.model.events import Action, about_run, about_worker
from rookery.model.plan import Modification
from rookery.model.run import BlockedByApprover, NotApprover, Run, Status
from rookery.rules import lifecycle, working_set
from rookery.rules.answers import NO_CHANGES, Changes, Decision, MachineBlock
from rookery.rules.lifecycle import Actor, TransitionResult

Decide = Callable[[Run, datetime], TransitionResult]

LONGEST_BLOCK_MESSAGE = 500


class RunCommands:
    """Who may do what is for the rules to say; here it is done."""

    def __init__(self, primary: Primary, views: FleetViews, locks: KeyedLocks) -> None:
        self._primary = primary
        self._views = views
        self._locks = locks

    async def submit(self, run: Run, *, approver: str = "") -> str:
        """Take up a new run, approved at once where an approver is named. Gives its id, or that of
        the run that the same command has taken up before."""

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
        """Let a run be played; a run that may be already stays as it is."""

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
        """Play on: a run stopped by hand, or one that an error stopped."""

        def again(run: Run, now: datetime) -> TransitionResult:
            act = lifecycle.restart if run.status.failed else lifecycle.reopen
            return act(run, actor, now)

        return await self._carry_out(run_id, again)

    async def show_anew(self, run_id: str) -> None:
        """Tells whoever watches an unfinished run that something was found out about it, as if the
        run had changed, in every process."""

        def shown(term: PrimaryTerm, _now: datetime) -> Decision[None]:
            run = term.working.runs().get(run_id)
            return Decision(None, Changes(runs=(run,)) if run else NO_CHANGES)

        await self._primary.answer(shown)

    async def block(self, short_name: str, message: str | None, actor: Actor) -> None:
        """Give a machine no more tasks, for its owner's or an approver's reasons; None ends it.

        Owners block machines that have been here, so that nobody fills the list with names;
        approvers any, and what they have blocked only they let back in. What is so already changes
        nothing and is not told.
        """
        if not actor.approver and not short_name.startswith(f"{actor.name}-"):
            raise NotApprover

        def blocked(term: PrimaryTerm, now: datetime) -> Decision[None]:
            if term.find_done() is not None:
                return Decision(None)
            text = None if message is None else message[:LONGEST_BLOCK_MESSAGE]
            machines, blocks = term.working.machines, term.working.machines.blocks
            if not (actor.approver or short_name in blocks or machines.knows(short_name)):
                raise UnknownMachine(machine=short_name)
            known = blocks.get(short_name)
            if known is not None and known.is_approvers and not actor.approver:
                raise BlockedByApprover
            if _says_so(known, text, actor):
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
                # It may have gone on while its row was read, or have ended.
                run = term.working.runs().get(run_id, found)
                if term.find_done() is not None:
                    return Decision(run)
                move = decide(run, now)
                if move.run is run and not move.events:
                    return Decision(run)
                changes = working_set.settle(term.working, move, now)
                return Decision(changes.runs[-1] if changes.runs else run, changes)

            return await self._primary.answer(moved, since=since)


def _says_so(known: MachineBlock | None, text: str | None, actor: Actor) -> bool:
    """Whether a machine is blocked as somebody wants it."""
    if known is None:
        return text is None
    # An approver makes a block of the owner their own by saying the same.
    is_taken_over = actor.approver and not known.is_approvers and known.actor != actor.name
    return known.message == text and not is_taken_over
