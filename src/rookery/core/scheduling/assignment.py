"""Giving out tasks: who is refused, what is chosen, how much of it."""

from datetime import datetime

from rookery.core.answers import Grant, Refusal, RefusalKind, Waiting
from rookery.core.changes import NO_CHANGES, Changes, Outcome
from rookery.core.endings import fail_task
from rookery.core.machine import Machine
from rookery.core.run import Run
from rookery.core.scheduling.policy import STANDARD_POLICY, Policy
from rookery.core.scheduling.sizing import expected_game_seconds, task_games
from rookery.core.scheduling.throughput import shares
from rookery.core.task import Task
from rookery.core.workingset import WorkingSet

MACHINE_LIMIT = 16
MOST_WASTED = 400
"""Tasks of a user with the ordinary machine limit that may end without a game within an hour."""


class Assignment:
    """Answers requests for tasks out of the working set."""

    def __init__(self, working: WorkingSet, policy: Policy = STANDARD_POLICY) -> None:
        self._working = working
        self._policy = policy

    def request(
        self, machine: Machine, now: datetime, *, limit: int = MACHINE_LIMIT
    ) -> Outcome[Grant | Waiting | Refusal]:
        """A task for this machine. The one it had before, if any, is taken to be abandoned."""
        if refusal := self.refusal(machine, now, limit=limit):
            return Outcome(refusal)
        cleared = self._clear(machine, now)
        past = self._working.roster.past(machine, now)
        self._working.roster.arrive(machine, now)
        run_id = self._working.index.choose(machine, past)
        if run_id is None:
            reasons = self._working.index.reasons(machine, past)
            return Outcome(Waiting(tuple(reasons.items())), cleared)
        grant = self._grant(self._working.runs()[run_id], machine, now)
        given = Changes(runs=(grant.run,), tasks=(grant.task,))
        return Outcome(grant, cleared + given if cleared else given)

    def next_in_line(
        self, machine: Machine, now: datetime, *, limit: int = MACHINE_LIMIT
    ) -> Run | None:
        """The run that `request` would give this machine now; changes nothing."""
        if self.refusal(machine, now, limit=limit):
            return None
        return self._working.would_play(machine, now)

    def refresh_shares(self) -> None:
        """Work out the shares of all runs anew; once a minute."""
        for run_id, share in shares(self._working.runs().values()).items():
            self._working.refresh_share(run_id, share)

    def refusal(
        self, machine: Machine, now: datetime, *, limit: int = MACHINE_LIMIT
    ) -> Refusal | None:
        """Why this machine gets no task, whatever there is to play."""
        roster = self._working.roster
        if (message := roster.blocks.get(machine.short_name)) is not None:
            return Refusal(RefusalKind.BLOCKED, f"this machine is blocked: {message}")
        seated = self._working.task_at(machine.short_name)
        if seated and self._is_duplicate(seated, machine, now):
            return Refusal(RefusalKind.DUPLICATE, "a worker of this name is playing already")
        if self._policy.limit_by_address:
            active = roster.active_at_address(machine.address)
        else:
            active = roster.active_of_user(machine.user)
        if active - (seated is not None) >= limit:
            return Refusal(RefusalKind.LIMIT, f"{active} machines are playing, {limit} may")
        return self._too_much(machine, seated, limit, now)

    def _too_much(
        self, machine: Machine, seated: Task | None, limit: int, now: datetime
    ) -> Refusal | None:
        """More cores than a user may have, or more tasks than are worth their rows."""
        if self._policy.simulated:
            return None
        wasted = self._working.roster.wasted(machine.user, now)
        if wasted >= MOST_WASTED * max(limit, MACHINE_LIMIT) // MACHINE_LIMIT:
            why = f"{wasted} tasks ended without a game within the hour; try again later"
            return Refusal(RefusalKind.LIMIT, why)
        most = self._policy.cores_per_user * max(limit, MACHINE_LIMIT) // MACHINE_LIMIT
        playing = self._working.roster.cores_of_user(machine.user)
        others = playing - (seated.machine.cores if seated else 0)
        if others + machine.cores <= most:
            return None
        why = f"{others} cores are playing, this machine has {machine.cores}, {most} may play"
        return Refusal(RefusalKind.LIMIT, why)

    def _is_duplicate(self, seated: Task, machine: Machine, now: datetime) -> bool:
        if seated.machine.key == machine.key:
            return False
        heard = self._working.hearing.last((seated.run, seated.id))
        return heard is not None and now - heard <= self._policy.duplicate_window

    def _clear(self, machine: Machine, now: datetime) -> Changes:
        if task := self._working.task_at(machine.short_name):
            return fail_task(self._working, task, "stale: the worker asks for another task", now)
        return NO_CHANGES

    def _grant(self, run: Run, machine: Machine, now: datetime) -> Grant:
        pace = self._working.paces.of(run.id, machine)
        roster, simulated = self._working.roster, self._policy.simulated
        cores = machine.cores if simulated else roster.believed_cores(machine)
        shared = not roster.is_alone()
        games = task_games(run, cores, expected_game_seconds(run, pace), shared=shared)
        tally = run.tally
        task = Task(run.id, tally.tasks, tally.total, games, machine, now, now)
        return Grant(self._working.open(task, now), task)
