"""The fleet: what workers call about tasks, one method for each of their calls.

An answer leaves when everything that it depends on is committed; only a sign of life of an active
task waits for nothing. People's commands are in `commands` and `purges`, reads in `views`.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from rookery.core.clock import Chance, Clock, SystemChance
from rookery.core.model.events import Action, about_task, about_worker
from rookery.core.model.kinds import Report, ticket_of
from rookery.core.model.machine import Machine
from rookery.core.model.run import Run, RunFault
from rookery.core.model.task import TaskKey
from rookery.core.stats.spsa import (
    Perturbation,
    PerturbationDraw,
    Tune,
    packed_size,
    perturb,
    perturb_final,
)
from rookery.server.caches import ExpiringCache
from rookery.server.farm.commands import RunCommands
from rookery.server.farm.primary import KeyedLocks, Primary, always
from rookery.server.farm.published import InThread, inline
from rookery.server.farm.purges import RunPurges
from rookery.server.farm.rules.answers import (
    OVER,
    Changes,
    ComplaintWeight,
    Decision,
    Grant,
    HeldTask,
    NoTask,
    Refusal,
    StopAnswer,
    TaskVerdict,
)
from rookery.server.farm.rules.eligibility import STANDARD_POLICY, Policy
from rookery.server.farm.rules.reception import answer_after_end
from rookery.server.farm.terms import PrimaryTerm, Store
from rookery.server.farm.views import FleetActivity, FleetViews, UnknownRun, UnknownTask
from rookery.server.logs import Log

A = TypeVar("A")
Pending = tuple[A, asyncio.Future[bool] | None]
"""An answer, and the commit to wait for before it is sent; None if it may be sent at once."""
MOST_RUNS_REMEMBERED = 10_000
RUN_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class DrawnValues:
    """Parameter values for a batch of a tune; `final` ones need no further rounding."""

    tune: Tune
    perturbations: tuple[Perturbation, ...]
    final: bool


class Fleet:
    """The calls of workers, one method each, with the objects for people's commands on the same
    primary."""

    def __init__(  # noqa: PLR0913 - the last four have usual values
        self,
        store: Store,
        clock: Clock,
        log: Log,
        *,
        policy: Policy = STANDARD_POLICY,
        chance: Chance | None = None,
        in_thread: InThread = inline,
        is_held: Callable[[], bool] = always,
    ) -> None:
        locks = KeyedLocks()
        self.primary = Primary(store, clock, log, policy, is_held)
        self.views = FleetViews(self.primary, in_thread)
        self.commands = RunCommands(self.primary, self.views, locks)
        self.purges = RunPurges(self.primary, self.views, locks, in_thread)
        self.activity = FleetActivity()
        self.primary.set_purge_starter(self.purges.carry_on)
        self._chance = chance or SystemChance()
        self._ended: ExpiringCache[str, int] = ExpiringCache(clock, MOST_RUNS_REMEMBERED)
        """The number of tasks of runs that have left memory."""
        # Another primary may have given out more tasks in the meantime.
        self.primary.on_open(lambda _term: self._ended.forget_all())

    async def request_task(self, machine: Machine, *, limit: int) -> Grant | NoTask | Refusal:
        """Give the machine a task, if there is one; its user may hold at most `limit` at a time."""
        return await self.primary.answer(lambda term, now: term.request_task(now, machine, limit))

    def request_at_once(self, machine: Machine, limit: int) -> Pending[Grant | NoTask | Refusal]:
        """As `request_task`, without awaiting anything."""
        return self.primary.decide(PrimaryTerm.request_task, machine, limit)

    async def beat(self, call: HeldTask) -> TaskVerdict:
        """Note a sign of life and answer whether the task is still active."""
        await self._check_exists(call)
        term = self.primary.term()
        try:
            alive = term.reception.beat(call, self.primary.clock.now())
        except RunFault:
            await self.primary.wait_committed(term)
            raise
        if not alive.alive:
            await self.primary.wait_committed(term)
        return alive

    def beat_at_once(self, key: TaskKey, worker: str, user: str) -> bool:
        """Note a sign of life without awaiting anything; False if only `beat` can answer."""
        working = self.primary.term().working
        task = working.task(key)
        if task is None or task.machine.key != worker or task.machine.user != user:
            return False
        working.last_seen.note(key, self.primary.clock.now())
        return True

    async def update_task(self, call: HeldTask, report: Report) -> TaskVerdict:
        """Take the task's results so far."""
        await self._check_exists(call)
        verdict = await self.primary.answer(
            lambda term, now: term.update_task(now, call, report, self._find_nps)
        )
        if verdict is not OVER:
            return verdict
        return answer_after_end(await self.views.task(call.run, call.task), call, report)

    def update_at_once(self, call: HeldTask, report: Report) -> Pending[TaskVerdict]:
        """As `update_task` for an active task, without awaiting anything; for any other, it changes
        nothing and answers OVER."""
        return self.primary.decide(PrimaryTerm.update_task, call, report, self._find_nps)

    async def request_spsa(self, call: HeldTask, *, slots: int = 0) -> DrawnValues | TaskVerdict:
        """Give values for the next batch of a tune: one final set per slot if slots are asked
        for."""
        await self._check_exists(call)
        return await self.primary.answer(
            lambda term, now: self._draw_values(term, call, slots, now)
        )

    async def fail_task(
        self, call: HeldTask, message: str, weight: ComplaintWeight | None = None
    ) -> TaskVerdict:
        """End a task that its worker could not play. `weight` is given if it says that no machine
        could."""
        await self._check_exists(call)
        return await self.primary.answer(
            lambda term, now: term.reception.fail(call, message, now, weight)
        )

    async def stop_run(
        self, call: HeldTask, message: str, *, weight: ComplaintWeight, complaint: str = ""
    ) -> StopAnswer:
        """Stop a run that a worker found to be broken, or count the complaint."""
        await self._check_exists(call)
        return await self.primary.answer(
            lambda term, now: term.reception.stop(
                call, message, now, weight=weight, complaint=complaint
            )
        )

    async def log_message(
        self, machine: Machine, message: str, call: HeldTask | None = None
    ) -> None:
        """Write a worker's message into the log of actions, with its task if one is given."""
        task = await self.views.own_task(call) if call else None
        run = await self.views.known_run(call.run) if call else None

        def noted(_: PrimaryTerm, now: datetime) -> Decision[None]:
            if run and task:
                event = about_task(Action.WORKER_LOG, run, task, now, message)
            else:
                who = machine.long_name
                event = about_worker(Action.WORKER_LOG, who, machine.user, now, message)
            return Decision(None, Changes(events=(event,)))

        await self.primary.answer(noted)

    def _find_nps(self, run_id: str) -> float:
        """Return the speed of a run as the last minute's job measured it."""
        return self.activity.speed(run_id).nps

    async def _check_exists(self, call: HeldTask) -> None:
        """Raise UnknownRun, or UnknownTask for a number that the run never gave out; the number of
        tasks is remembered for runs that have left memory."""
        term = self.primary.term()
        if term.working.task((call.run, call.task)) is not None:
            return
        run = term.working.runs().get(call.run)
        tasks = run.tally.tasks if run else await self._tasks_of(call)
        if call.task >= tasks:
            await self.primary.wait_committed(term)
            raise UnknownTask(run=call.run, task=call.task)

    async def _tasks_of(self, call: HeldTask) -> int:
        tasks = self._ended.get(call.run)
        # The run may have been reopened since then, and have ended with more tasks.
        if tasks is None or call.task >= tasks:
            run = await self.views.run(call.run)
            if run is None:
                raise UnknownRun(run=call.run)
            tasks = run.tally.tasks
            self._ended.put(call.run, tasks, RUN_SECONDS)
        return tasks

    def _draw_values(
        self, term: PrimaryTerm, call: HeldTask, slots: int, now: datetime
    ) -> Decision[DrawnValues | TaskVerdict]:
        run = term.working.runs().get(call.run)
        if run is None:
            return Decision(OVER)
        if run.kind.tune is None:
            raise RunFault("the run tunes no parameters")
        drawn = self._draw(run, run.kind.tune, call.machine, slots)
        outcome = term.reception.issue(call, ticket_of(drawn.perturbations), now)
        answer = drawn if outcome.answer.alive else outcome.answer
        return Decision(answer, outcome.changes)

    def _draw(self, run: Run, tune: Tune, machine: Machine, slots: int) -> DrawnValues:
        count = len(tune.parameters)
        size = packed_size(count)
        if not slots:
            return DrawnValues(tune, (perturb(tune, self._chance.flips(size)),), final=False)
        most = max(1, run.demands.slots(machine.cores))
        draws = [
            PerturbationDraw(self._chance.flips(size), self._chance.numbers(count))
            for _ in range(min(slots, most))
        ]
        return DrawnValues(tune, perturb_final(tune, draws), final=True)
