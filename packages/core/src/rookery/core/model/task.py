"""Tasks, their results as counts from the new engine's point of view, and the sums over them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from operator import lt

import msgspec
from msgspec import Struct, structs

from rookery.core.model.bounds import Amount, Count, Word
from rookery.core.model.machine import Machine
from rookery.core.stats.residuals import excessive
from rookery.core.stats.spsa import Issued

Pentanomial = tuple[Count, Count, Count, Count, Count]


class Results(Struct, frozen=True, gc=False):
    """Results of games by outcome, and of pairs by score 0, 1/2, 1, 3/2, 2, as workers report them,
    rows and answers contain them, and rules and statistics use them. `contradiction` checks whether
    games and pairs agree."""

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
        """Losses, draws and wins, in the order that statistics use."""
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
        """Whether there are more crashes or time losses than a healthy machine has."""
        return bool(self.crashes or self.time_losses) and excessive(
            games=self.games, crashes=self.crashes, time_losses=self.time_losses
        )


NOTHING = Results(0, 0, 0, 0, 0, (0, 0, 0, 0, 0))


def total(parts: Iterable[Results]) -> Results:
    return sum(parts, NOTHING)


def contradiction(results: Results, step: int = 1) -> str | None:
    """How the single games and the pairs disagree, or why these are not whole steps; None if they
    agree."""
    if results.games % step:
        return f"the number of games is not a multiple of {step}"
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


# Tasks: a part of a run's games on one machine, and the results reported so far.

TaskKey = tuple[str, int]
"""The run's id and the task's number, which identify a task."""
Ticket = tuple[Issued, ...]
"""What a task of a tune must remember until the next report: the perturbations that it plays."""


@dataclass(frozen=True, slots=True)
class Task:
    """The games from `start` up to `start + games` of a run; no other task of the run overlaps
    them.

    `reported` is the time of the last result; a sign of life does not change it.
    """

    run: str
    id: int
    start: int
    games: int
    machine: Machine
    created: datetime
    reported: datetime
    results: Results = NOTHING
    ticket: Ticket | None = None
    active: bool = True
    bad: bool = False
    too_fast: bool = False

    @property
    def committed(self) -> int:
        """The games that nobody else needs to play: all of them while the task is active, the
        played ones afterwards."""
        return self.games if self.active else self.results.games

    def with_results(self, results: Results, ticket: Ticket | None, now: datetime) -> Task:
        return self._with(now, results, ticket, active=self.active)

    def flagged(self) -> Task:
        """Return the task, marked as played faster than is possible."""
        return replace(self, too_fast=True)

    def described(self, machine: Machine) -> Task:
        """Return the task with the machine's present description, but with the address to which the
        task was given out."""
        if machine.address != self.machine.address:
            machine = structs.replace(machine, address=self.machine.address)
        return replace(self, machine=machine)

    def closed(self) -> Task:
        """Return the task after its end; closing it twice changes nothing."""
        return self._with(self.reported, self.results, None, active=False) if self.active else self

    def _with(
        self, reported: datetime, results: Results, ticket: Ticket | None, *, active: bool
    ) -> Task:
        # Not dataclasses.replace, which is several times slower: this is the hot path.
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


# The tally of a run: sums over its tasks, maintained only here, and who played them.


@dataclass(frozen=True, slots=True)
class Tally:
    """The sums over all tasks of a run: active workers and cores, games committed and given out,
    and results."""

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
        """Return the tally after an active task ended; its unplayed games can be given out
        again."""
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
        """Return the tally after all active tasks ended at once; only played games count."""
        return Tally(0, 0, self.results.games, self.total, self.tasks, self.results)

    def without(self, bad: Iterable[Task]) -> Tally:
        """Return the tally after the results of closed tasks were struck out."""
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
    """Return the tally computed anew from all tasks of a run, to check the stored one."""
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
    """The number of counted games by machine and user, for each unfinished run; part of the working
    set."""

    def __init__(self) -> None:
        self._by_run: dict[str, _Played] = {}

    def add(self, run_id: str, machine: str, user: str, games: int) -> None:
        """Add games of a machine, given by its short name; negative if games no longer count."""
        played = self._by_run.get(run_id)
        if played is None:
            played = self._by_run[run_id] = _Played()
        played.machines[machine] += games
        played.users[user] += games

    def most_of_a_machine(self, run_id: str) -> int:
        played = self._by_run.get(run_id)
        return max(played.machines.values(), default=0) if played else 0

    def first_user(self, run_id: str) -> tuple[str, int]:
        """Return the user whose machines played most, and their number of games."""
        played = self._by_run.get(run_id)
        if not played:
            return "", 0
        return max(played.users.items(), key=lambda each: each[1])

    def of_users(self, run_id: str) -> Mapping[str, int]:
        """Return the number of games by user."""
        played = self._by_run.get(run_id)
        return played.users if played else {}

    def forget(self, run_id: str) -> None:
        self._by_run.pop(run_id, None)


class Provenance(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """How games were played, as a worker of ours reports it: the runner, the programs, how much the
    clock was scaled, and how late the runner woke up. This can't be found out later."""

    runner: Word = ""
    version: Word = msgspec.field(default="", name="runner_version")
    new_hash: Word = ""
    base_hash: Word = ""
    factor: Amount = 0.0
    latency_ms: Amount = 0.0


class PlayedBatch(Provenance, frozen=True, gc=False, kw_only=True):
    """Games that a task reported together, and how they were played."""

    run: str
    task: int
    at: datetime
    games: int
