"""Tasks, their results as counts from the new engine's point of view, and the sums over them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from operator import lt

import msgspec
from msgspec import Struct, structs

from rookery.model.bounds import Amount, Count, Word
from rookery.model.machine import Machine
from rookery.stats.residuals import excessive

Pentanomial = tuple[Count, Count, Count, Count, Count]


class Results(Struct, frozen=True, gc=False):
    """Single games by outcome, and game pairs by pair score 0, 1/2, 1, 3/2, 2: as workers report
    them, rows and answers hold them, and rules and statistics reckon with them. Whether games and
    pairs agree is for `contradiction` to say."""

    wins: Count
    losses: Count
    draws: Count
    crashes: Count
    time_losses: Count
    pentanomial: Pentanomial

    @property
    def games(self) -> int:
        return self.wins + self.losses + self.draws

    @property
    def pairs(self) -> int:
        return sum(self.pentanomial)

    @property
    def trinomial(self) -> tuple[int, int, int]:
        """Losses, draws, wins: the order in which statistics count outcomes."""
        return self.losses, self.draws, self.wins

    def __add__(self, other: Results) -> Results:
        a, b = self.pentanomial, other.pentanomial
        return Results(
            self.wins + other.wins,
            self.losses + other.losses,
            self.draws + other.draws,
            self.crashes + other.crashes,
            self.time_losses + other.time_losses,
            (a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4]),
        )

    def __sub__(self, other: Results) -> Results:
        a, b = self.pentanomial, other.pentanomial
        return Results(
            self.wins - other.wins,
            self.losses - other.losses,
            self.draws - other.draws,
            self.crashes - other.crashes,
            self.time_losses - other.time_losses,
            (a[0] - b[0], a[1] - b[1], a[2] - b[2], a[3] - b[3], a[4] - b[4]),
        )

    def covers(self, earlier: Results) -> bool:
        """Whether no count is lower than in an earlier report of the same games."""
        return (
            self.wins >= earlier.wins
            and self.losses >= earlier.losses
            and self.draws >= earlier.draws
            and self.crashes >= earlier.crashes
            and self.time_losses >= earlier.time_losses
            and not any(map(lt, self.pentanomial, earlier.pentanomial))
        )

    def excessive(self) -> bool:
        """More crashes or time losses than a sound machine produces."""
        return bool(self.crashes or self.time_losses) and excessive(
            games=self.games, crashes=self.crashes, time_losses=self.time_losses
        )


NOTHING = Results(0, 0, 0, 0, 0, (0, 0, 0, 0, 0))


def total(parts: Iterable[Results]) -> Results:
    return sum(parts, NOTHING)


def contradiction(results: Results) -> str | None:
    """Say how the single games and the pairs disagree; None when they agree."""
    p = results.pentanomial
    if min(*p, *results.trinomial, results.crashes, results.time_losses) < 0:
        return "a count is negative"
    if results.games != 2 * results.pairs:
        return "the number of games is not twice the number of pairs"
    if results.wins - results.losses != 2 * p[4] + p[3] - p[1] - 2 * p[0]:
        return "wins minus losses differs from what the pairs say"
    if not p[3] + p[1] <= results.draws <= p[3] + 2 * p[2] + p[1]:
        return "the number of draws is not possible with these pairs"
    return None


# Tasks: a slice of a run's games on one machine, and what the machine has reported of it.

TaskKey = tuple[str, int]
"""Run id and number of a task: how everybody refers to it."""


@dataclass(frozen=True, slots=True)
class Task:
    """Games `start` to `start + games` of a run; no other task of the run overlaps them.

    `ticket` belongs to the kind of run: whatever it must remember until the next report.
    `reported` is when the last result came in, which a sign of life alone doesn't change.
    """

    run: str
    id: int
    start: int
    games: int
    machine: Machine
    created: datetime
    reported: datetime
    results: Results = NOTHING
    ticket: object | None = None
    active: bool = True
    bad: bool = False
    too_fast: bool = False

    @property
    def committed(self) -> int:
        """Games that nobody else needs to play: all while it lives, the played ones after."""
        return self.games if self.active else self.results.games

    def with_results(self, results: Results, ticket: object | None, now: datetime) -> Task:
        return self._with(now, results, ticket, active=self.active)

    def flagged(self) -> Task:
        """Marked as played faster than is possible."""
        return replace(self, too_fast=True)

    def described(self, machine: Machine) -> Task:
        """With the machine as it describes itself now, at the address the task was given out to."""
        if machine.address != self.machine.address:
            machine = structs.replace(machine, address=self.machine.address)
        return replace(self, machine=machine)

    def closed(self) -> Task:
        """The same task once nobody plays it; closing it twice changes nothing."""
        return self._with(self.reported, self.results, None, active=False) if self.active else self

    def _with(
        self, reported: datetime, results: Results, ticket: object | None, *, active: bool
    ) -> Task:
        # Spelled out: dataclasses.replace costs several times as much, and this is the hot path.
        return Task(
            self.run,
            self.id,
            self.start,
            self.games,
            self.machine,
            self.created,
            reported,
            results,
            ticket,
            active,
            self.bad,
            self.too_fast,
        )


# The tally of a run: sums over its tasks, kept up to date in this one place, and who played.


@dataclass(frozen=True, slots=True)
class Tally:
    """Workers and cores at play, games spoken for and handed out, and the results of all tasks."""

    workers: int = 0
    cores: int = 0
    committed: int = 0
    total: int = 0
    tasks: int = 0
    results: Results = NOTHING

    def opened(self, task: Task) -> Tally:
        return Tally(
            self.workers + 1,
            self.cores + task.machine.cores,
            self.committed + task.games,
            self.total + task.games,
            self.tasks + 1,
            self.results,
        )

    def reported(self, before: Results, after: Results) -> Tally:
        results = self.results + (after - before)
        return Tally(self.workers, self.cores, self.committed, self.total, self.tasks, results)

    def closed(self, task: Task) -> Tally:
        """After an active task ended; the games it left unplayed are to be had again."""
        assert task.active
        return Tally(
            self.workers - 1,
            self.cores - task.machine.cores,
            self.committed + task.results.games - task.games,
            self.total,
            self.tasks,
            self.results,
        )

    def all_closed(self) -> Tally:
        """After every active task ended at once: what counts is what was played."""
        return Tally(0, 0, self.results.games, self.total, self.tasks, self.results)

    def without(self, bad: Iterable[Task]) -> Tally:
        """After the results of closed tasks were struck out."""
        struck = total(task.results for task in bad)
        return Tally(
            self.workers,
            self.cores,
            self.committed - struck.games,
            self.total,
            self.tasks,
            self.results - struck,
        )


EMPTY = Tally()


def recounted(tasks: Iterable[Task]) -> Tally:
    """The tally worked out anew from all tasks of a run, to check the kept one."""
    tasks = list(tasks)
    active = [task for task in tasks if task.active]
    return Tally(
        workers=len(active),
        cores=sum(task.machine.cores for task in active),
        committed=sum(task.committed for task in tasks),
        total=sum(task.games for task in tasks),
        tasks=len(tasks),
        results=total(task.results for task in tasks),
    )


@dataclass(slots=True)
class _Played:
    machines: Counter[str] = field(default_factory=Counter)
    users: Counter[str] = field(default_factory=Counter)


class Players:
    """Who played how many of the games that count, by unfinished run; a part of the working set."""

    def __init__(self) -> None:
        self._by_run: dict[str, _Played] = {}

    def add(self, run_id: str, machine: str, user: str, games: int) -> None:
        """Machines go by their short names; games that count no longer are negative."""
        played = self._by_run.get(run_id)
        if played is None:
            played = self._by_run[run_id] = _Played()
        played.machines[machine] += games
        played.users[user] += games

    def most_of_a_machine(self, run_id: str) -> int:
        played = self._by_run.get(run_id)
        return max(played.machines.values(), default=0) if played else 0

    def first_user(self, run_id: str) -> tuple[str, int]:
        """Whose machines played most, and how much."""
        played = self._by_run.get(run_id)
        if not played:
            return "", 0
        return max(played.users.items(), key=lambda each: each[1])

    def forget(self, run_id: str) -> None:
        self._by_run.pop(run_id, None)


class Provenance(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """How games were played, as a worker of ours tells it: by which runner, with which programs,
    how much the clock was scaled and how late the runner woke up. It can't be found out later."""

    runner: Word = ""
    version: Word = msgspec.field(default="", name="runner_version")
    new_hash: Word = ""
    base_hash: Word = ""
    factor: Amount = 0.0
    latency_ms: Amount = 0.0


class PlayedBatch(Provenance, frozen=True, gc=False, kw_only=True):
    """Games that a task reported at once, and how they were played."""

    run: str
    task: int
    at: datetime
    games: int
