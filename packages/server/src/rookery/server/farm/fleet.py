"""The fleet: what workers call about tasks, one method for each of their calls.

An answer leaves when everything that it depends on is committed; only a sign of life of an active
task waits for nothing. People's commands are in `commands` and `purges`, reads in `views`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from msgspec.structs import asdict
from msgspec.structs import replace as with_fields

from rookery.core.clock import Chance, Clock, SystemChance
from rookery.core.model.events import Action, about_task, about_worker
from rookery.core.model.kinds import Report, SpsaTuning, ticket_of
from rookery.core.model.machine import Machine
from rookery.core.model.run import Run, RunFault
from rookery.core.model.task import PlayedBatch, Provenance, TaskKey
from rookery.core.stats.spsa import Perturbation, PerturbationDraw, Tune, packed_size
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
from rookery.server.farm.terms import Act, PrimaryTerm, Store
from rookery.server.farm.views import FleetActivity, FleetViews, UnknownRun, UnknownTask
from rookery.server.logs import Log


class NoTune(RunFault):
    """the run tunes no parameters"""


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

    def __init__(
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
        """Gives the machine a task, if there is one; its user may hold at most `limit` at a
        time."""
        return await self.primary.answer(task_request_act(machine, limit))

    async def beat(self, call: HeldTask) -> TaskVerdict:
        """Notes a sign of life and answers whether the task is still active."""
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
        """Notes a sign of life without awaiting anything; False if only `beat` can answer."""
        working = self.primary.term().working
        task = working.task(key)
        if task is None or task.machine.key != worker or task.machine.user != user:
            return False
        working.last_seen.note(key, self.primary.clock.now())
        return True

    async def update_task(
        self, call: HeldTask, report: Report, provenance: Provenance | None = None
    ) -> TaskVerdict:
        """Takes the task's results so far, with the provenance of the latest batch."""
        await self._check_exists(call)
        act = task_update_act(call, report, provenance, self.activity)
        verdict = await self.primary.answer(act)
        if verdict is not OVER:
            return verdict
        return answer_after_end(await self.views.task(call.run, call.task), call, report)

    async def request_spsa(self, call: HeldTask, *, slots: int = 0) -> DrawnValues | TaskVerdict:
        """Gives values for the next batch of a tune: one final set per slot if slots are asked
        for."""
        await self._check_exists(call)
        return await self.primary.answer(
            lambda term, now: self._draw_values(term, call, slots, now)
        )

    async def fail_task(
        self, call: HeldTask, message: str, weight: ComplaintWeight | None = None
    ) -> TaskVerdict:
        """Ends a task that its worker could not play. `weight` is given if it says that no machine
        could."""
        await self._check_exists(call)
        return await self.primary.answer(
            lambda term, now: term.reception.fail(call, message, now, weight)
        )

    async def stop_run(
        self, call: HeldTask, message: str, *, weight: ComplaintWeight, complaint: str = ""
    ) -> StopAnswer:
        """Stops a run that a worker found to be broken, or counts the complaint."""
        await self._check_exists(call)
        return await self.primary.answer(
            lambda term, now: term.reception.stop(
                call, message, now, weight=weight, complaint=complaint
            )
        )

    async def log_message(
        self, machine: Machine, message: str, call: HeldTask | None = None
    ) -> None:
        """Writes a worker's message into the log of actions, with its task if one is given."""
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

    async def _check_exists(self, call: HeldTask) -> None:
        """Raises UnknownRun, or UnknownTask for a number that the run never gave out; the number of
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
        if not isinstance(run.kind, SpsaTuning):
            raise NoTune
        drawn = self._draw(run, run.kind, call.machine, slots)
        outcome = term.reception.issue(call, ticket_of(drawn.perturbations), now)
        answer = drawn if outcome.answer.alive else outcome.answer
        return Decision(answer, outcome.changes)

    def _draw(self, run: Run, kind: SpsaTuning, machine: Machine, slots: int) -> DrawnValues:
        count = len(kind.tune.parameters)
        size = packed_size(count)
        if not slots:
            return DrawnValues(kind.tune, (kind.perturbed(self._chance.flips(size)),), final=False)
        most = max(1, run.demands.slots(machine.cores))
        draws = [
            PerturbationDraw(self._chance.flips(size), self._chance.numbers(count))
            for _ in range(min(slots, most))
        ]
        return DrawnValues(kind.tune, kind.draw_final_perturbations(draws), final=True)


def task_request_act(machine: Machine, limit: int) -> Act[Grant | NoTask | Refusal]:
    return lambda term, now: term.scheduler.request(machine, now, limit=limit)


def task_update_act(
    call: HeldTask, report: Report, provenance: Provenance | None, activity: FleetActivity
) -> Act[TaskVerdict]:
    """The act of an update. If a chart point is due, it gets the speed that the last minute's job
    measured."""
    nps = activity.speed(call.run).nps
    return lambda term, now: _update_task(term, call, report, provenance, nps, now)


def _update_task(
    term: PrimaryTerm,
    call: HeldTask,
    report: Report,
    provenance: Provenance | None,
    nps: float,
    now: datetime,
) -> Decision[TaskVerdict]:
    before = term.working.task((call.run, call.task))
    done = term.reception.update(call, report, now)
    changes = done.changes
    if before is None or not changes.runs:
        return done
    origins: tuple[PlayedBatch, ...] = ()
    played = report.results.games - before.results.games
    if provenance and played > 0 and not done.answer.error and not changes.bad:
        origins = (_batch(call, now, played, provenance),)
    samples = term.sampling.take_due_points(changes.runs[-1], now, nps)
    if not origins and not samples:
        return done
    return Decision(done.answer, with_fields(changes, samples=samples, provenance=origins))


def _batch(call: HeldTask, now: datetime, games: int, how: Provenance) -> PlayedBatch:
    return PlayedBatch(run=call.run, task=call.task, at=now, games=games, **asdict(how))
