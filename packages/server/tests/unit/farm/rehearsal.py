"""A rehearsal: the whole core under a stream of operations, with a database made of dictionaries.

It plays runs, workers and people by a given source of chance, stores what the operations say has
changed, and can compare the sums that the core keeps with those recounted from the stored rows.
"""

import hashlib
import random
import re
from collections.abc import Callable
from datetime import timedelta

from msgspec import UNSET

from rookery.core.model import run as faults
from rookery.core.model.kinds import Batches, Kind, Report, ticket_of
from rookery.core.model.machine import Machine
from rookery.core.model.plan import Modification, Plan, first_missing
from rookery.core.model.run import Run
from rookery.core.model.task import NOTHING, Results, Task, recounted
from rookery.core.stats.spsa import TuneBatch, perturb
from rookery.server.farm.rules import lifecycle
from rookery.server.farm.rules.answers import Changes, ComplaintWeight, Grant, HeldTask
from rookery.server.farm.rules.assignment import Scheduler
from rookery.server.farm.rules.lifecycle import TransitionResult, modify
from rookery.server.farm.rules.reception import Reception
from rookery.server.farm.rules.working_set import WorkingSet, settle, submit
from tests.makers import (
    BOSS,
    NOW,
    OWNER,
    ROOKERY,
    counts,
    make_machine,
    make_plan,
    make_run,
    pairs,
    sprt,
    spsa,
)
from tests.unit.farm.purges import carried_out, purge_by_hand

DEEDS = (lifecycle.stop, lifecycle.delete, lifecycle.restore, lifecycle.reopen, lifecycle.restart)


class Rehearsal:
    """The core with everybody who uses it."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.now = NOW
        self.working = WorkingSet()
        self.scheduler = Scheduler(self.working)
        self.reception = Reception(self.working)
        self.runs: dict[str, Run] = {}
        self.tasks: dict[str, dict[int, Task]] = {}
        self.told = 0
        self.machines = [self._machine(number) for number in range(12)]

    # What may happen.

    def submit_run(self) -> None:
        run = make_run(f"r{len(self.runs):03}", self._plan(), self._kind(), approved=False)
        self._store(submit(self.working, run, self.now))

    def approve(self) -> None:
        self._deed(lambda run: lifecycle.approve(run, BOSS, self.now))

    def withdraw(self) -> None:
        self._deed(lambda run: lifecycle.withdraw(run, BOSS, self.now))

    def intervene(self) -> None:
        deed = self.chance.choice(DEEDS)
        self._deed(lambda run: deed(run, OWNER, self.now))

    def change(self) -> None:
        wanted = Modification(
            games=self.chance.choice((UNSET, 0, 1000, 2000, 5000)),
            priority=self.chance.choice((UNSET, -1, 0, 1)),
            auto_purge=self.chance.choice((UNSET, True)),
        )
        self._deed(lambda run: modify(run, wanted, self.chance.choice((OWNER, BOSS)), self.now))

    def request(self) -> None:
        machine = self.chance.choice(self.machines)
        expected = self.scheduler.next_in_line(machine, self.now)
        outcome = self.scheduler.request(machine, self.now)
        self._store(outcome.changes)
        if isinstance(outcome.answer, Grant):
            grant = outcome.answer
            assert expected
            assert expected.id == grant.run.id
            assert first_missing(grant.run.demands.needs, machine.abilities) is None
        else:
            assert expected is None

    def report(self) -> None:
        if task := self._some_task():
            results = self._more(task)
            batches = self._batches(task, results)
            call = HeldTask(task.run, task.id, task.machine)
            self._twice(call, Report(results, batches))

    def report_nonsense(self) -> None:
        if task := self._some_task():
            odd = Report(task.results + counts(wins=self.chance.choice((1, 2))))
            call = HeldTask(task.run, task.id, task.machine)
            outcome = self.reception.update(call, odd, self.now)
            assert not outcome.answer.alive
            self._store(outcome.changes)

    def report_late(self) -> None:
        if task := self._some_task():
            call = HeldTask(task.run, task.id, task.machine)
            older = Report(NOTHING if self.chance.random() < 0.5 else task.results)
            outcome = self.reception.update(call, older, self.now)
            assert outcome.answer.alive
            assert not outcome.changes

    def draw(self) -> None:
        if task := self._some_task():
            kind = self.working.runs()[task.run].kind
            if kind.tune is not None:
                drawn = perturb(kind.tune, self.chance.randbytes(1))
                call = HeldTask(task.run, task.id, task.machine)
                self._store(self.reception.issue(call, ticket_of([drawn]), self.now).changes)

    def fail_task(self) -> None:
        if task := self._some_task():
            call = HeldTask(task.run, task.id, task.machine)
            for _ in range(2):
                self._store(self.reception.fail(call, "lost the engine", self.now).changes)

    def complain(self) -> None:
        if task := self._some_task():
            call = HeldTask(task.run, task.id, task.machine)
            weight = ComplaintWeight.STOPS if self.chance.random() < 0.1 else ComplaintWeight.COUNTS
            message = f"bench {self.chance.randrange(3)}"
            outcome = self.reception.stop(call, message, self.now, weight=weight)
            self._store(outcome.changes)

    def wait(self) -> None:
        self.now += timedelta(seconds=self.chance.choice((1, 30, 100, 400)))
        self._store(self.reception.expire(self.now))
        self.scheduler.refresh_shares()

    def purge(self) -> None:
        run = self._some_run()
        if run and run.id not in self.working.runs():
            self._try(
                lambda: purge_by_hand(self.working, run, self._rows(run.id), OWNER, self.now)[1]
            )

    # What must hold.

    def check(self) -> None:
        for run_id, run in self.runs.items():
            assert run.tally == recounted(self._rows(run_id)), run_id
            active = [task for task in self._rows(run_id) if task.active]
            assert run.status.finished == (run_id not in self.working.runs())
            assert list(self.working.tasks(run_id)) == active
            if run.status.finished:
                assert not active
            else:
                assert self.working.runs()[run_id].tally == run.tally
                assert not run.status.failed
                assert not run.status.deleted
                assert not run.decided
            self._check_ranges(run_id)

    def _check_ranges(self, run_id: str) -> None:
        start = 0
        for number, task in sorted(self.tasks.get(run_id, {}).items()):
            assert (task.id, task.start) == (number, start)
            assert task.games % self.runs[run_id].kind.step == 0
            start += task.games

    def digest(self) -> str:
        """One number that any difference in any stored value changes."""
        lines = [
            repr((_essence(run), *map(_row, self._rows(run.id)))) for run in self.runs.values()
        ]
        # Platforms differ in the last digits of logarithms, and these add up in a tune.
        text = re.sub(r"-?\d+\.\d+", lambda found: f"{float(found[0]):.5f}", "\n".join(lines))
        # How a class is called is no stored value.
        text = re.sub(r"\b[A-Za-z_]\w*\(|<[A-Za-z_]\w*\.", "(", f"{text}\n{self.told}")
        return hashlib.sha256(text.encode()).hexdigest()

    # How it is done.

    def _machine(self, number: int) -> Machine:
        return make_machine(
            f"w{number:02}",
            cores=(1, 2, 4, 8)[number % 4],
            memory=(3000, 64_000)[number % 5 > 0],
            user=f"user{number % 3}",
            rookery=ROOKERY if number % 3 == 0 else UNSET,
            nps=float(500_000 + 10_000 * number),
        )

    def _plan(self) -> Plan:
        return make_plan(
            games=self.chance.choice((200, 1000, 2000)),
            tc=self.chance.choice(("10+0.1", "60+0.6", "N=20000")),
            threads=self.chance.choice((1, 1, 2)),
            priority=self.chance.choice((0, 0, 1)),
            auto_purge=self.chance.random() < 0.5,
            engine=self.chance.choice(("Stockfish", "Stockfish", "Tiny")),
        )

    def _kind(self) -> Kind:
        return self.chance.choice((sprt(batch=4, elo1=20.0), make_run().kind, spsa(games=2000)))

    def _some_run(self) -> Run | None:
        return self.chance.choice(list(self.runs.values())) if self.runs else None

    def _some_task(self) -> Task | None:
        found = [task for run_id in self.working.runs() for task in self.working.tasks(run_id)]
        return self.chance.choice(found) if found else None

    def _more(self, task: Task) -> Results:
        """The results of a task with one more step of games, some of them odd."""
        kind = self.working.runs()[task.run].kind
        played = task.results
        for _ in range(kind.step // 2):
            counts = [0, 0, 0, 0, 0]
            counts[self.chance.choices(range(5), (1, 4, 8, 5, 2))[0]] = 1
            played = played + pairs(*counts, crashes=int(self.chance.random() < 0.01))
        return played

    def _batches(self, task: Task, results: Results) -> Batches:
        issued = task.ticket
        if not issued:
            return ()
        added = results - task.results
        return (TuneBatch(added.games, added.wins, added.losses, issued[0].signature),)

    def _twice(self, call: HeldTask, report: Report) -> None:
        """A report whose answer got lost comes again, and must change nothing then."""
        outcome = self.reception.update(call, report, self.now)
        self._store(outcome.changes)
        again = self.reception.update(call, report, self.now)
        assert not again.changes
        assert again.answer.alive == outcome.answer.alive

    def _deed(self, deed: Callable[[Run], TransitionResult]) -> None:
        if run := self._some_run():
            current = self.working.runs().get(run.id, run)
            self._try(lambda: settle(self.working, deed(current), self.now))

    def _try(self, deed: Callable[[], Changes]) -> None:
        try:
            self._store(deed())
        except faults.RunFault:
            self.told += 1

    def _rows(self, run_id: str) -> list[Task]:
        return list(self.tasks.get(run_id, {}).values())

    def _store(self, changes: Changes) -> None:
        for closing in changes.closings:
            for task in closing.rows():
                self.tasks[task.run][task.id] = task
        for task in changes.tasks:
            self.tasks.setdefault(task.run, {})[task.id] = task
        for run in changes.runs:
            self.runs[run.id] = run
        self.told += len(changes.events)
        for due in changes.purges:
            run, tasks = self.runs[due.run], self._rows(due.run)
            self._store(carried_out(self.working, run, due, tasks, self.now)[1])


def _essence(run: Run) -> tuple[object, ...]:
    plan = run.plan
    return run.id, run.kind, run.status, run.tally, run.updated, plan.games, plan.priority


def _row(task: Task) -> tuple[object, ...]:
    worker = task.machine.long_name
    return task.id, task.start, task.games, worker, task.results, task.active, task.bad, task.ticket


def rehearse(seed: int, steps: int) -> Rehearsal:
    """Let that many things happen, the usual ones more often."""
    scene = Rehearsal(random.Random(seed))
    deeds = [getattr(scene, name) for name, weight in OFTEN.items() for _ in range(weight)]
    for _ in range(steps):
        scene.chance.choice(deeds)()
    return scene


OFTEN = {
    "submit_run": 1,
    "approve": 3,
    "withdraw": 1,
    "intervene": 1,
    "change": 1,
    "request": 20,
    "report": 60,
    "report_nonsense": 1,
    "report_late": 2,
    "draw": 5,
    "fail_task": 2,
    "complain": 1,
    "wait": 5,
    "purge": 1,
}
