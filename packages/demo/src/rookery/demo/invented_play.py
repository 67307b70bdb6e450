"""Simulates the machines of an invented farm while it is served, so that its pages stay alive.

No games are played: results are drawn for an assumed Elo difference, at the pace that a machine's
cores would reach. Machines ask for tasks, give signs of life and report through the same acts as
real workers, and a new test is submitted when one has ended, so that there is always something to
see.
"""

import asyncio
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import cycle, islice
from random import Random

from msgspec import Struct

from rookery.core.model.kinds import Batches, Report
from rookery.core.model.machine import Machine
from rookery.core.model.run import Run, RunFault
from rookery.core.model.task import Pentanomial, Results, Task
from rookery.core.stats.spsa import TuneBatch
from rookery.server.farm.commits import QueueFull, StateLost
from rookery.server.farm.fleet import DrawnValues, Fleet
from rookery.server.farm.primary import Rebuilding
from rookery.server.farm.rules.answers import Decision, HeldTask
from rookery.server.farm.terms import PrimaryTerm

TURN_SECONDS = 1.0
BEAT_SECONDS = 60
"""The interval between signs of life of a machine."""
LEAST_ROUND_SECONDS = 20
MOST_ROUND_SECONDS = 600
"""The longest interval between reports; a task without results for a quarter of an hour is taken
back."""
REPORTS_A_SECOND = 60
"""Reports per second in all, which a laptop can handle; more only when there are too many machines
for it."""
LONGEST_SILENCE = 2 * MOST_ROUND_SECONDS
NEW_TEST_SECONDS = 15
NO_LIMIT = 10**6
ELO, ELO_SPREAD = 0.2, 2.5


class InventedFarm(Struct, frozen=True):
    """The size and the seed of an invented farm. They are stored in its database, so that it is
    never taken for a real farm."""

    runs: int
    machines: int
    chance: int

    @property
    def tests(self) -> int:
        """How many unfinished runs play or could play; the others wait for approval."""
        return self.runs - math.ceil(self.runs / 12)


def find_pair_chances(elo: float) -> tuple[float, ...]:
    """Return the probabilities of the five results of a pair at a given Elo difference."""
    shift = elo * 0.0017
    return 0.006, 0.225 - shift, 0.538, 0.225 + shift, 0.006


def make_results(p: Pentanomial, crashes: int = 0, time_losses: int = 0) -> Results:
    """Results of single games that agree with these pairs."""
    decided = int(p[2] * 0.55)
    return Results(
        wins=2 * p[4] + p[3] + decided,
        losses=2 * p[0] + p[1] + decided,
        draws=p[1] + p[3] + 2 * (p[2] - decided),
        crashes=crashes,
        time_losses=time_losses,
        pentanomial=p,
    )


def draw_many_pairs(chance: Random, elo: float, pairs: int) -> Results:
    """Return the results of a whole task, now and then with a crash or a loss on time. The number
    of draws of chance does not depend on the number of pairs."""
    drawn = [_draw_count(chance, pairs, each) for each in find_pair_chances(elo)]
    drawn[2] = max(0, pairs - sum(drawn) + drawn[2])
    p: Pentanomial = (drawn[0], drawn[1], drawn[2], drawn[3], drawn[4])
    crashes, time_losses = chance.random() < 0.01, chance.random() < 0.05
    return make_results(p, int(crashes), int(time_losses))


def _draw_count(chance: Random, pairs: int, share: float) -> int:
    spread = (pairs * share * (1 - share)) ** 0.5
    return min(pairs // 3, max(0, round(chance.gauss(pairs * share, spread))))


def draw_pairs(chance: Random, elo: float, pairs: int) -> Results:
    """Results of a report, drawn pair by pair."""
    drawn = Counter(chance.choices(range(5), find_pair_chances(elo), k=pairs))
    return make_results((drawn[0], drawn[1], drawn[2], drawn[3], drawn[4]))


def count_pairs(run: Run, task: Task, now: datetime, chance: Random) -> int:
    """Return the number of whole pairs that a machine has played since its last report, within its
    task."""
    seconds = min((now - task.reported).total_seconds(), LONGEST_SILENCE)
    games = seconds * run.demands.slots(task.machine.cores) / max(run.game_seconds, 0.1)
    return min(int(games / 2 + chance.random()), (task.games - task.results.games) // 2)


class InventedFleet:
    """Simulates the machines of an invented farm. Used only on the primary's event loop."""

    def __init__(
        self,
        fleet: Fleet,
        machines: Sequence[Machine],
        tests: int,
        invent_test: Callable[[datetime], tuple[Run, str]],
        chance: Random,
    ) -> None:
        """Keep `tests` tests under way; `invent_test` makes a new one and names its approver."""
        self._fleet = fleet
        self._machines = machines
        self._tests = tests
        self._invent_test = invent_test
        self._chance = chance
        self._last_test: datetime | None = None
        self._reporting, self._beating = cycle(machines), cycle(machines)

    async def play(self) -> None:
        """Run until it is cancelled, and wait while the database is unavailable."""
        woken = False
        while True:
            try:
                if not woken:
                    await self._fleet.primary.answer(_wake)
                    woken = True
                await self.take_turn()
            except (StateLost, Rebuilding, QueueFull):
                woken = False
            await asyncio.sleep(TURN_SECONDS)

    async def take_turn(self) -> None:
        """Simulate one second of the farm."""
        count = len(self._machines)
        for machine in islice(self._beating, math.ceil(count * TURN_SECONDS / BEAT_SECONDS)):
            self._beat(machine)
        whole = min(max(count / REPORTS_A_SECOND, LEAST_ROUND_SECONDS), MOST_ROUND_SECONDS)
        turn = islice(self._reporting, math.ceil(count * TURN_SECONDS / whole))
        done = await asyncio.gather(*map(self._go_on, turn), return_exceptions=True)
        for fault in _list_faults(done):
            raise fault
        await self._keep_full()

    def _find_task(self, machine: Machine) -> Task | None:
        return self._fleet.primary.term().working.task_at(machine.short_name)

    def _beat(self, machine: Machine) -> None:
        if task := self._find_task(machine):
            self._fleet.beat_at_once((task.run, task.id), task.machine.key, task.machine.user)

    async def _go_on(self, machine: Machine) -> None:
        """Report what the machine has played since the last time, or ask for a task."""
        task, now = self._find_task(machine), self._fleet.primary.clock.now()
        if task is None:
            await self._fleet.request_task(machine, limit=NO_LIMIT)
            return
        run = self._fleet.primary.term().working.runs()[task.run]
        if pairs := count_pairs(run, task, now, self._chance):
            elo = Random(run.id).gauss(ELO, ELO_SPREAD)  # noqa: S311 - no secret
            await self._report(run, task, draw_pairs(self._chance, elo, pairs))

    async def _report(self, run: Run, task: Task, new: Results) -> None:
        call = HeldTask(task.run, task.id, task.machine)
        batch: Batches = ()
        if run.kind.tune is not None:
            drawn = await self._fleet.request_spsa(call)
            if not isinstance(drawn, DrawnValues):
                return
            signature = drawn.perturbations[0].issued.signature
            batch = (TuneBatch(new.games, new.wins, new.losses, signature),)
        await self._fleet.update_task(call, Report(task.results + new, batch, in_parts=True))

    async def _keep_full(self) -> None:
        """Submit another test when one has ended, at most one at a time."""
        now, runs = self._fleet.primary.clock.now(), self._fleet.primary.term().working.runs()
        if self._last_test and now - self._last_test < timedelta(seconds=NEW_TEST_SECONDS):
            return
        if sum(run.status.approved for run in runs.values()) < self._tests:
            self._last_test = now
            run, approver = self._invent_test(now)
            await self._fleet.commands.submit(run, approver=approver)


def _wake(term: PrimaryTerm, now: datetime) -> Decision[None]:
    """Set all tasks as reported just now: nothing was played while the farm was not served."""
    working = term.working
    for run_id in working.runs():
        for task in tuple(working.tasks(run_id)):
            working.annotate(replace(task, reported=now), now)
    return Decision(None)


def _list_faults(done: Sequence[BaseException | None]) -> Iterator[BaseException]:
    """Return the errors among the results; a task that has ended in the meantime is no error."""
    return (each for each in done if each is not None and not isinstance(each, RunFault))
