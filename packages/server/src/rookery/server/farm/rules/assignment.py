"""Assigns tasks: which machines are refused, which run is chosen, and how large tasks and batches
are."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from math import ceil

from rookery.core.model.engine import time_factor
from rookery.core.model.machine import MACHINE_LIMIT, OFFICIAL, Machine
from rookery.core.model.plan import Demands, first_missing
from rookery.core.model.run import Run
from rookery.core.model.task import Task
from rookery.core.model.timecontrol import ClockControl, Depth, Nodes, TimeControl, is_classic
from rookery.server.farm.rules.answers import (
    NO_CHANGES,
    Changes,
    Decision,
    Grant,
    MachineHistory,
    NoTask,
    Refusal,
    RefusalKind,
)
from rookery.server.farm.rules.eligibility import STANDARD_POLICY, Policy
from rookery.server.farm.rules.observations import GamePace
from rookery.server.farm.rules.working_set import WorkingSet, fail_task

# How many games go into a task and into a batch.

TASK_SECONDS = 1800
MOST_TASK_GAMES = 50_000
"""The most games of a task, however short they are."""
SHARED_PART = 0.25
"""The largest part of a run's remaining games for one task when there are other machines, unless
that part would take less than LEAST_TASK_SECONDS."""
LEAST_TASK_SECONDS = 300
PATIENCE = 4
"""A task is stalled if its results take this many times as long as expected."""
ROUNDS = 4
"""The games that official workers play on each board between two reports."""
LEAST_PATIENCE_SECONDS = 900
BUILD_SECONDS = 2700
"""The time allowed for building the engines before the first games."""
UNMEASURED_SECONDS = 6 * 3600
"""The time allowed for games at fixed nodes or depth, whose length is unknown until some are
measured."""
SLOWEST = 16.0
"""The slowest machine that is allowed for, in times of the reference's thinking time."""
WITHIN_REASON = 8.0
"""How far the measured length of games on the clock may differ from the computed one, as a
factor."""
REFERENCE_BATCH = 16
"""The pairs of a batch at the reference time control."""
BATCH_SECONDS = 60
"""The longest time that a batch should take a median machine; where official workers play too, a
batch may always have REFERENCE_BATCH pairs."""
BATCH_SHARE = 0.04
"""The largest part of a test's expected games for one batch. With larger ones the ratio would jump
far beyond its bounds, and a short test would be decided by the first machine alone."""


def choose_task_size(run: Run, cores: int, game_seconds: float, *, shared: bool = False) -> int:
    """Return the size of a new task: half an hour's work in whole steps, at most what is left, and
    only a part of that if other machines may want some."""
    wanted = min(_wanted(run, cores, game_seconds), _whole(run, MOST_TASK_GAMES))
    if shared:
        least = _wanted(run, cores, game_seconds, LEAST_TASK_SECONDS)
        wanted = min(wanted, max(least, _whole(run, SHARED_PART * run.remaining)))
    return min(wanted, _whole(run, run.remaining))


def report_timeout(run: Run, task: Task, pace: GamePace) -> float:
    """How long to wait for the next results of a task whose machine gives signs of life."""
    machine = task.machine
    factor = time_factor(run.reference_nps, machine.nps) if run.plan.is_scaled else 1.0
    each = expected_game_seconds(run, pace) * min(max(factor, 1.0), SLOWEST)
    rounds = max(ROUNDS, ceil(run.kind.step / max(1, run.demands.slots(machine.cores))))
    unknown = isinstance(run.plan.time_control, Nodes | Depth) and not pace.game_seconds(0.0)
    least = UNMEASURED_SECONDS if unknown else LEAST_PATIENCE_SECONDS
    building = 0 if task.results.games else BUILD_SECONDS
    return building + max(least, PATIENCE * rounds * each)


def expected_game_seconds(run: Run, pace: GamePace) -> float:
    """Return the wall-clock time of a game: as measured, but within limits if a clock bounds it."""
    guess = run.game_seconds
    seconds = pace.game_seconds(guess)
    if not is_classic(run.plan.time_control):
        return seconds
    return min(max(seconds, guess / WITHIN_REASON), guess * WITHIN_REASON)


def _wanted(run: Run, cores: int, game_seconds: float, seconds: float = TASK_SECONDS) -> int:
    games = seconds / max(game_seconds, 1e-3) * run.demands.slots(cores)
    step = run.kind.step
    return max(step, step * int(games / step + 0.5))


def _whole(run: Run, games: float) -> int:
    """Return a number of games rounded up to whole steps, which workers insist on."""
    return ceil(games / run.kind.step) * run.kind.step


def batch_pairs(length_ratio: float) -> int:
    """Pairs per batch of a sequential test that official workers may play."""
    return max(1, int(0.5 + REFERENCE_BATCH / length_ratio))


def batch_pairs_by_time(slots: int, game_seconds: float) -> int:
    """Pairs that a median eligible machine plays in a minute."""
    return max(1, int(BATCH_SECONDS * slots / (2 * max(game_seconds, 1e-3))))


@dataclass(frozen=True, slots=True)
class BatchFacts:
    """The facts on which the batch of a new sequential test depends."""

    length_ratio: float
    """The length of its games relative to those of the reference time control."""
    slots: int
    """The number of simultaneous games on a median machine."""
    game_seconds: float
    expected_games: float
    """The expected number of games of the whole test."""


def batch_size(demands: Demands, facts: BatchFacts) -> int:
    """Return the batch size of a new sequential test, in pairs. Official workers report whole
    batches, our own also parts of one. So the contract's formula applies only up to a small part of
    the expected length, and for very short games only up to a minute's worth."""
    by_time = batch_pairs_by_time(facts.slots, facts.game_seconds)
    if first_missing(demands.needs, OFFICIAL) is None:
        by_time = max(REFERENCE_BATCH, by_time)
    share = int(BATCH_SHARE * facts.expected_games / 2)
    return max(1, min(batch_pairs(facts.length_ratio), by_time, share))


# The share of a run: its throughput, adjusted for length of games, number of the user's runs, and
# progress.

LEAST, MOST = 1, 500
"""The limits of a requested throughput, in per cent."""
CROWD = 36
"""The square of the number of runs of one user at which the share of each is halved."""
LENGTH_EXPONENT = 0.774
SETTLED_GAMES = 200_000
REFERENCE = ClockControl(10, 0.1)
LONG_RATIO = 4.0
"""A test is long if its games take more than so many times as long as those of the reference."""


def length_ratio(tc: TimeControl, threads: int, nps: float) -> float:
    """Return the core seconds of a game relative to those of the reference time control."""
    return threads * tc.game_seconds(nps) / REFERENCE.game_seconds(nps)


def share(run: Run, busy_runs: int) -> float:
    """Return the internal throughput of a run whose owner has `busy_runs` runs with workers."""
    plan = run.plan
    ratio = length_ratio(plan.time_control, plan.threads, run.reference_nps)
    progress = min(run.tally.results.games / SETTLED_GAMES, 1)
    return float(
        min(max(plan.throughput, LEAST), MOST)
        * max(1.0, ratio) ** LENGTH_EXPONENT
        * CROWD
        / (CROWD + busy_runs**2)
        * (1 + progress + run.kind.bonus)
    )


def shares(runs: Iterable[Run]) -> dict[str, float]:
    """Return the shares of all unfinished runs, by id; recomputed once a minute."""
    runs = list(runs)
    busy = Counter(run.plan.owner for run in runs if run.tally.workers > 0)
    return {run.id: share(run, busy[run.plan.owner]) for run in runs}


MOST_WASTED = 400
"""The most tasks without a game that may end within an hour, for a user with the ordinary machine
limit."""


class Scheduler:
    """Answers requests for tasks from the working set."""

    def __init__(self, working: WorkingSet, policy: Policy = STANDARD_POLICY) -> None:
        self._working = working
        self._policy = policy

    def request(
        self, machine: Machine, now: datetime, *, limit: int = MACHINE_LIMIT
    ) -> Decision[Grant | NoTask | Refusal]:
        """Give the machine a task. A task that it still has counts as abandoned."""
        if refusal := self.refusal(machine, now, limit=limit):
            return Decision(refusal)
        cleared = self._clear(machine, now)
        past = self._working.machines.past(machine, now)
        state = self._working.machines.note_request(machine, now)
        last = state.last
        run_id = self._working.index.choose(machine, past)
        if run_id is None:
            reasons = self._working.index.reasons(machine, past)
            return Decision(NoTask(tuple(reasons.items())), cleared)
        grant = self._grant(self._working.runs()[run_id], machine, now)
        moved = (MachineHistory(machine.short_name, tuple(state.seen), run_id),)
        recalled = moved if run_id != last else ()
        given = Changes(runs=(grant.run,), tasks=(grant.task,), recalled=recalled)
        return Decision(grant, cleared + given if cleared else given)

    def next_in_line(
        self, machine: Machine, now: datetime, *, limit: int = MACHINE_LIMIT
    ) -> Run | None:
        """Return the run of which `request` would give this machine a task now; change nothing."""
        if self.refusal(machine, now, limit=limit):
            return None
        return self._working.would_play(machine, now)

    def refresh_shares(self) -> None:
        """Recompute the shares of all runs; called once a minute."""
        for run_id, share in shares(self._working.runs().values()).items():
            self._working.refresh_share(run_id, share)

    def refusal(
        self, machine: Machine, now: datetime, *, limit: int = MACHINE_LIMIT
    ) -> Refusal | None:
        """Why this machine gets no task at all; None if it may have one."""
        machines = self._working.machines
        if (block := machines.blocks.get(machine.short_name)) is not None:
            return Refusal(RefusalKind.BLOCKED, f"this machine is blocked: {block.message}")
        playing = self._working.task_at(machine.short_name)
        if playing and self._is_duplicate(playing, machine, now):
            return Refusal(RefusalKind.DUPLICATE, "a worker of this name is playing already")
        if self._policy.limit_by_address:
            active = machines.active_at_address(machine.address)
        else:
            active = machines.active_of_user(machine.user)
        if active - (playing is not None) >= limit:
            return Refusal(RefusalKind.LIMIT, f"{active} machines are playing, {limit} may")
        return self._too_much(machine, playing, limit, now)

    def _too_much(
        self, machine: Machine, playing: Task | None, limit: int, now: datetime
    ) -> Refusal | None:
        """Refuse a user with too many cores at play, or too many recent tasks without games."""
        if self._policy.simulated:
            return None
        wasted = self._working.machines.wasted_tasks(machine.user, now)
        if wasted >= MOST_WASTED * max(limit, MACHINE_LIMIT) // MACHINE_LIMIT:
            why = f"{wasted} tasks ended without a game within the hour; try again later"
            return Refusal(RefusalKind.LIMIT, why)
        most = self._policy.cores_per_user * max(limit, MACHINE_LIMIT) // MACHINE_LIMIT
        cores = self._working.machines.cores_of_user(machine.user)
        others = cores - (playing.machine.cores if playing else 0)
        if others + machine.cores <= most:
            return None
        why = f"{others} cores are playing, this machine has {machine.cores}, {most} may play"
        return Refusal(RefusalKind.LIMIT, why)

    def _is_duplicate(self, playing: Task, machine: Machine, now: datetime) -> bool:
        if playing.machine.key == machine.key:
            return False
        heard = self._working.last_seen.get((playing.run, playing.id))
        return heard is not None and now - heard <= self._policy.duplicate_window

    def _clear(self, machine: Machine, now: datetime) -> Changes:
        if task := self._working.task_at(machine.short_name):
            return fail_task(self._working, task, "stale: the worker asks for another task", now)
        return NO_CHANGES

    def _grant(self, run: Run, machine: Machine, now: datetime) -> Grant:
        pace = self._working.paces.of(run.id, machine)
        machines, simulated = self._working.machines, self._policy.simulated
        cores = machine.cores if simulated else machines.believed_cores(machine)
        shared = not machines.is_alone()
        games = choose_task_size(run, cores, expected_game_seconds(run, pace), shared=shared)
        tally = run.tally
        task = Task(run.id, tally.tasks, tally.total, games, machine, now, now)
        return Grant(self._working.open(task, now), task)
