"""The fleet: the one door through which runs, tasks and blocks change; one per primary."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

from rookery.caches import Remembered
from rookery.clock import Clock
from rookery.farm.ports import Batch, MachineHistory, NoTune, Provenance, UnknownRun, UnknownTask
from rookery.farm.primary import Chance, Done, KeyedLocks, PrimaryTerm, Store, SystemChance
from rookery.farm.purges import InThread, Purges, inline
from rookery.farm.views import NO_SPEED, FleetViews, RunCommands, RunSpeed
from rookery.logs import Log
from rookery.model.events import MOST_CHARACTERS, Action, Event, about_task
from rookery.model.kinds import Report, SpsaTuning, ticket_of
from rookery.model.machine import Machine
from rookery.model.run import Run, RunFault
from rookery.rules.answers import (
    OVER,
    Changes,
    Decision,
    Grant,
    HeldTask,
    NoTask,
    Refusal,
    StopAnswer,
    TaskVerdict,
    Word,
)
from rookery.rules.eligibility import STANDARD_POLICY, Policy
from rookery.stats.spsa import Perturbation, PerturbationDraw, Tune, packed_size

# What workers ask and report, one method for each of their calls about tasks.

A = TypeVar("A")

MOST_RUNS_REMEMBERED = 10_000
RUN_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Drawn:
    """Values to play a batch of a tune with; `final` ones are not rounded any more."""

    tune: Tune
    perturbations: tuple[Perturbation, ...]
    final: bool


class WorkerCalls(FleetViews):
    """Every answer leaves when all it depends on is committed; a living task's beat is free."""

    _chance: Chance
    _ended: Remembered[str, int]
    """How many tasks runs had that are not in memory any more."""

    async def request_task(self, machine: Machine, *, limit: int) -> Grant | NoTask | Refusal:
        """A task for this machine, if there is one; its user may have so many at a time."""
        return await self.answer(lambda term, now: _assigned(term, machine, limit, now))

    async def beat(self, call: HeldTask) -> TaskVerdict:
        """A sign of life. That a task lives on was told when it was given out."""
        term = self.enter()
        if term.working.task((call.run, call.task)) is None:
            await self._check_place(term, call)
        try:
            alive = term.reception.beat(call, self.clock.now())
        except RunFault:
            await self.settle(term)
            raise
        if not alive.alive:
            await self.settle(term)
        return alive

    async def update_task(
        self, call: HeldTask, report: Report, provenance: Provenance | None = None
    ) -> TaskVerdict:
        """All results of a task so far, and how the last of them were played."""
        await self._check_place(self.enter(), call)
        return await self.answer(lambda term, now: _updated(term, call, report, provenance, now))

    async def request_spsa(self, call: HeldTask, *, slots: int = 0) -> Drawn | TaskVerdict:
        """Values for the next batch of a tune: final ones per slot where slots are asked for."""
        await self._check_place(self.enter(), call)
        return await self.answer(lambda term, now: self._drawn(term, call, slots, now))

    async def fail_task(self, call: HeldTask, message: str) -> TaskVerdict:
        """The worker could not go on."""
        await self._check_place(self.enter(), call)
        return await self.answer(lambda term, now: _done(term.reception.fail(call, message, now)))

    async def stop_run(
        self, call: HeldTask, message: str, *, word: Word, complaint: str = ""
    ) -> StopAnswer:
        """The worker holds the run itself to be broken; equal complaints add up."""
        await self._check_place(self.enter(), call)
        return await self.answer(
            lambda term, now: _done(
                term.reception.stop(call, message, now, word=word, complaint=complaint)
            )
        )

    async def note(self, machine: Machine, message: str, call: HeldTask | None = None) -> None:
        """Words of a worker for the log, about a task of its own or about nothing in particular."""
        task = await self.own_task(call) if call else None
        run = await self.known_run(call.run) if call else None

        def noted(_: PrimaryTerm, now: datetime) -> Done[None]:
            if run and task:
                event = about_task(Action.WORKER_LOG, run, task, now, message)
            else:
                event = _words_of(machine, message, now)
            return Done(None, Batch(Changes(events=(event,))))

        await self.answer(noted)

    async def _check_place(self, term: PrimaryTerm, call: HeldTask) -> None:
        """Raises UnknownRun or UnknownTask."""
        run = term.working.runs().get(call.run)
        tasks = run.tally.tasks if run else await self._tasks_of(call.run)
        if call.task >= tasks:
            await self.settle(term)
            raise UnknownTask(run=call.run, task=call.task)

    async def _tasks_of(self, run_id: str) -> int:
        tasks = self._ended.get(run_id)
        if tasks is None:
            run = await self.run(run_id)
            if run is None:
                raise UnknownRun(run=run_id)
            tasks = run.tally.tasks
            self._ended.put(run_id, tasks, RUN_SECONDS)
        return tasks

    def _drawn(
        self, term: PrimaryTerm, call: HeldTask, slots: int, now: datetime
    ) -> Done[Drawn | TaskVerdict]:
        run = term.working.runs().get(call.run)
        if run is None:
            return Done(OVER)
        if not isinstance(run.kind, SpsaTuning):
            raise NoTune
        drawn = self._draw(run, run.kind, call.machine, slots)
        outcome = term.reception.issue(call, ticket_of(drawn.perturbations), now)
        answer = drawn if outcome.answer.alive else outcome.answer
        return Done(answer, Batch(outcome.changes))

    def _draw(self, run: Run, kind: SpsaTuning, machine: Machine, slots: int) -> Drawn:
        count = len(kind.tune.parameters)
        size = packed_size(count)
        if not slots:
            return Drawn(kind.tune, (kind.perturbed(self._chance.flips(size)),), final=False)
        most = max(1, run.demands.slots(machine.cores))
        draws = [
            PerturbationDraw(self._chance.flips(size), self._chance.numbers(count))
            for _ in range(min(slots, most))
        ]
        return Drawn(kind.tune, kind.perturbed_finally(draws), final=True)


def _assigned(
    term: PrimaryTerm, machine: Machine, limit: int, now: datetime
) -> Done[Grant | NoTask | Refusal]:
    before = term.working.machines.get(machine.short_name)
    last = before.last if before else ""
    outcome = term.assignment.request(machine, now, limit=limit)
    answer = outcome.answer
    if not isinstance(answer, Grant) or answer.run.id == last:
        return _done(outcome)
    state = term.working.machines.get(machine.short_name)
    seen = tuple(state.seen) if state else ()
    recalled = MachineHistory(machine.short_name, seen, answer.run.id)
    return Done(answer, Batch(outcome.changes, recalled=(recalled,)))


def _updated(
    term: PrimaryTerm,
    call: HeldTask,
    report: Report,
    provenance: Provenance | None,
    now: datetime,
) -> Done[TaskVerdict]:
    before = term.working.task((call.run, call.task))
    outcome = term.reception.update(call, report, now)
    changes = outcome.changes
    if before is None or not changes.runs:
        return _done(outcome)
    origins: tuple[Provenance, ...] = ()
    played = report.results.games - before.results.games
    if provenance and played > 0 and not outcome.answer.error and not changes.apart:
        origins = (replace(provenance, at=now, games=played),)
    samples = term.sampling.taken(changes.runs[-1], now)
    return Done(outcome.answer, Batch(changes, samples, origins, bad=changes.apart))


def _words_of(machine: Machine, message: str, now: datetime) -> Event:
    words = message[:MOST_CHARACTERS]
    return Event(Action.WORKER_LOG, now, machine.user, "", "", words, worker=machine.long_name)


def _done(outcome: Decision[A]) -> Done[A]:
    return Done(outcome.answer, Batch(outcome.changes))


class Fleet(WorkerCalls, RunCommands, Purges):
    """What workers call, what people command and what both may see, in a module each."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        log: Log,
        *,
        policy: Policy = STANDARD_POLICY,
        chance: Chance | None = None,
        aside: InThread = inline,
    ) -> None:
        super().__init__(store, clock, log, policy)
        self._chance = chance or SystemChance()
        self._ended = Remembered(clock, MOST_RUNS_REMEMBERED)
        self._turns = KeyedLocks()
        self._aside = aside
        self._under_way: set[str] = set()
        self.pulses: dict[str, RunSpeed] = {}
        self.user_paces: Mapping[str, float] = {}
        """Games a minute that users' machines play now, as worked out once a minute."""
        self.waiting_machines = 0
        """Those that asked and got nothing, as counted twice a minute."""

    def pulse(self, run_id: str) -> RunSpeed:
        """How fast a run moves; known a minute after it began."""
        return self.pulses.get(run_id, NO_SPEED)
