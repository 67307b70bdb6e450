"""Decides how workers' signs of life, results and failures change their tasks and runs."""

import enum
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice

from rookery.model.engine import time_factor
from rookery.model.events import MOST_CHARACTERS, NOT_AUTHORIZED, Action, about_task
from rookery.model.kinds import Report
from rookery.model.machine import Machine
from rookery.model.run import ForeignTask, Run
from rookery.model.task import Task
from rookery.model.timecontrol import ClockControl, MoveTime, Nodes
from rookery.rules import lifecycle
from rookery.rules.answers import (
    DONE,
    GO_ON,
    NO_CHANGES,
    OVER,
    Changes,
    ComplaintWeight,
    Decision,
    HeldTask,
    StopAnswer,
    TaskVerdict,
)
from rookery.rules.assignment import LEAST_PATIENCE_SECONDS, report_timeout
from rookery.rules.eligibility import STANDARD_POLICY, Policy
from rookery.rules.machines import BELIEVED_CORES
from rookery.rules.observations import UNMEASURED, GamePace, TaskFailure
from rookery.rules.purge import BadTask
from rookery.rules.working_set import (
    WorkingSet,
    end_dead_task,
    end_task,
    fail_task,
    finish_decided,
    settle,
)
from rookery.stats.residuals import EXCESS_RESIDUAL, Colour

# Judges a report by what its task has reported before.
#
# Reports are cumulative, are repeated when an answer gets lost, and may overtake one another. So an
# identical report is a repeat and an older one is late; both are harmless, and the task continues.
# An impossible report is refused and ends the task.

IMPOSSIBLE_SHARE = 0.1
"""Games on the clock that took less than this part of the expected time, over a whole task, were
not played."""
FASTEST = 8.0
"""The fastest machine that is believed, in times of the reference's speed."""
UNMEASURED_SHARE = 0.002
"""The same part for fixed nodes, where the engine's speed is known roughly or not at all."""
MEASURED_SHARE = 0.02
"""The same part where games of this run were measured on machines of this class."""
LEAST_SECONDS = 0.002
"""The shortest possible time of a game."""
LEAST_GAMES = 8
"""The number of too fast games that proves something; a user may report fewer of them within an
hour."""


class Weight(enum.Enum):
    """The possible outcomes of judging a report."""

    NEWS = "news"
    REPEAT = "repeat"
    LATE = "late"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Judgement:
    """The outcome of judging a report, and the reason if it is refused."""

    weight: Weight
    why: str = ""


_NEWS = Judgement(Weight.NEWS)
_REPEAT = Judgement(Weight.REPEAT)
_LATE = Judgement(Weight.LATE)


def judge(run: Run, task: Task, report: Report, machine: Machine) -> Judgement:
    """Judges a report by its task's earlier results, and checks that the machine still has the same
    cores."""
    old, new = task.results, report.results
    if machine.cores != task.machine.cores:
        return _refused("the number of cores changed during the task")
    if new == old:
        return _REPEAT
    # The kind judges only new results; an older report just has to agree with what is known.
    if why := run.kind.objection(old, report) if new.games >= old.games else None:
        return _refused(why)
    if not new.covers(old):
        return _LATE if old.covers(new) else _refused("results reported before have changed")
    if new.games > task.games:
        return _refused("more games than the task has")
    return _NEWS


def least_game_seconds(run: Run, machine: Machine, pace: GamePace) -> float:
    """The least average time of a game. On the clock it is a tenth of what is expected on a machine
    several times as fast as the reference. Fixed nodes and depth hardly bound it; there it is a
    small part of the measured time, or the time needed to transmit moves."""
    if isinstance(run.plan.time_control, ClockControl | MoveTime):
        factor = time_factor(run.reference_nps, machine.nps) if run.plan.is_scaled else 1.0
        return IMPOSSIBLE_SHARE * run.game_seconds * min(max(factor, 1 / FASTEST), 1.0)
    by_nodes = isinstance(run.plan.time_control, Nodes)
    formula = UNMEASURED_SHARE * run.game_seconds if by_nodes else 0.0
    return max(formula, MEASURED_SHARE * pace.game_seconds(0.0), LEAST_SECONDS)


def is_hasty(task: Task, games: int, least: float, slots: int, now: datetime) -> bool:
    """Whether so many games can't have been played since the task was given out, if each takes at
    least `least` seconds."""
    return (now - task.created).total_seconds() * slots < least * games


def late_games(run: Run, task: Task, report: Report, now: datetime) -> int:
    """How many games a late report adds after the end of its run; 0 if they can't be true. They are
    credited to the players but don't count for the result."""
    new = report.results
    if task.bad or run.kind.objection(task.results, report) or not new.covers(task.results):
        return 0
    least, slots = least_game_seconds(run, task.machine, UNMEASURED), run.demands.slots
    hasty = is_hasty(task, new.games, least, slots(task.machine.cores), now)
    if new.games > task.games or (hasty and new.games >= LEAST_GAMES):
        return 0
    return new.games - task.results.games


def _refused(why: str) -> Judgement:
    return Judgement(Weight.REFUSED, why)


MOST_AT_ONCE = 500
"""How many dead tasks are ended at once, so that many deaths don't hold up other calls."""
MOST_LOOKED_AT = 2_000
"""How many silent tasks are examined at once; those of finished runs are still among them."""

TOO_FAST = "these games can't have been played in so short a time: they are kept apart"


class Reception:
    """Answers beats, reports and failures, and keeps the working set up to date."""

    def __init__(self, working: WorkingSet, policy: Policy = STANDARD_POLICY) -> None:
        self._working = working
        self._policy = policy

    def beat(self, call: HeldTask, now: datetime) -> TaskVerdict:
        """Notes a sign of life, which needs no row."""
        if self._active(call) is None:
            return OVER
        self._working.last_seen.note((call.run, call.task), now)
        return GO_ON

    def update(self, call: HeldTask, report: Report, now: datetime) -> Decision[TaskVerdict]:
        """Takes all results of a task so far."""
        task = self._active(call)
        if task is None:
            return Decision(OVER)
        run = self._working.runs()[call.run]
        judgement = judge(run, task, report, call.machine)
        if judgement.weight is Weight.REFUSED:
            changes = self._failed(task, f"refused: {judgement.why}", now)
            return Decision(TaskVerdict(False, error=judgement.why), changes)
        if judgement.weight is not Weight.NEWS:
            self._working.last_seen.note((call.run, call.task), now)
            return Decision(GO_ON)
        if not self._policy.simulated and self._is_too_fast(run, task, call, report, now):
            return self._reject_too_fast(run, task, report, now)
        return self._fold(run, task, call, report, now)

    def issue(self, call: HeldTask, ticket: object, now: datetime) -> Decision[TaskVerdict]:
        """Stores what the task must remember until its next report, replacing the previous
        ticket."""
        task = self._active(call)
        if task is None:
            return Decision(OVER)
        after = task.with_results(task.results, ticket, task.reported)
        self._working.annotate(after, now)
        return Decision(GO_ON, Changes(tasks=(after,)))

    def fail(self, call: HeldTask, message: str, now: datetime) -> Decision[TaskVerdict]:
        """Ends a task that its worker could not continue."""
        task = self._active(call)
        if task is None:
            return Decision(OVER)
        if not task.results.games:
            self._working.machines.note_failure(task, now)
        return Decision(DONE, self._failed(task, message, now))

    def stop(
        self,
        call: HeldTask,
        message: str,
        now: datetime,
        *,
        weight: ComplaintWeight,
        complaint: str = "",
    ) -> Decision[StopAnswer]:
        """Handles a worker's claim that the run itself is broken. The run is stopped if the
        reporter is trusted or owns the run, or if several users agree; else only this machine gives
        up the run. `complaint` is the part of the message that users must agree on, if it is not
        all of it."""
        complaint = complaint or message
        task = self._active(call)
        run = self._working.runs().get(call.run)
        if run is None:
            return Decision(StopAnswer.FINISHED)
        if task is None:
            return Decision(StopAnswer.NOT_TRUSTED)
        reporter = task.machine.user
        if (
            weight is ComplaintWeight.STOPS
            or reporter == run.plan.owner
            or self._is_agreed(task, weight, complaint)
        ):
            event = about_task(Action.STOP_RUN, run, task, now, message)
            moved = lifecycle.fail(run, event)
            return Decision(StopAnswer.STOPPED, settle(self._working, moved, now))
        self._working.machines.note_failure(task, now)
        self._note(task, message, now)
        words = f"{message[: MOST_CHARACTERS - len(NOT_AUTHORIZED) - 1]} {NOT_AUTHORIZED}"
        event = about_task(Action.STOP_RUN, run, task, now, words)
        return Decision(StopAnswer.NOT_TRUSTED, end_task(self._working, task, now, event))

    def _is_agreed(self, task: Task, weight: ComplaintWeight, complaint: str) -> bool:
        if weight is ComplaintWeight.NOTED:
            return False
        users = self._working.failures.complain(task.run, complaint, task.machine.user)
        return users >= self._policy.users_to_stop

    def expire(self, now: datetime, most: int = MOST_AT_ONCE) -> Changes:
        """Ends tasks that have been silent for too long; to be called again while there are
        more."""
        changes = NO_CHANGES
        silent = self._working.last_seen.pop_silent(now, self._policy.dead_after)
        for key in islice(silent, MOST_LOOKED_AT):
            if task := self._working.task(key):
                changes += end_dead_task(self._working, task, now)
            if len(changes.tasks) >= most:
                break
        return changes

    def is_stalled(self, task: Task, now: datetime) -> bool:
        """Whether an active task has reported no results for far too long. Signs of life don't
        count here, and neither does time in which the server was unreachable."""
        excused_until = self._working.last_seen.excused_until
        since = max(task.reported, excused_until) if excused_until else task.reported
        waited = (now - since).total_seconds()
        if waited <= LEAST_PATIENCE_SECONDS:
            return False
        run, pace = self._working.runs()[task.run], self._working.paces.of(task.run, task.machine)
        return waited > report_timeout(run, task, pace)

    def end_stalled_tasks(self, tasks: Iterable[Task], now: datetime) -> Changes:
        """Ends those of the tasks that are stalled, so that others can play their games."""
        changes = NO_CHANGES
        for task in tasks:
            if self._working.task((task.run, task.id)) is task and self.is_stalled(task, now):
                minutes = (now - task.reported).total_seconds() / 60
                self._working.machines.note_failure(task, now)
                changes += self._failed(task, f"stalled: no results for {minutes:.0f} minutes", now)
        return changes

    def has_silent(self, now: datetime) -> bool:
        """Whether there may be more dead tasks."""
        return self._working.last_seen.has_silent(now, self._policy.dead_after)

    def _failed(self, task: Task, message: str, now: datetime) -> Changes:
        self._note(task, message, now)
        return fail_task(self._working, task, message, now)

    def _note(self, task: Task, message: str, now: datetime) -> None:
        trouble = TaskFailure(now, task.machine.long_name, message)
        self._working.failures.note(task.run, trouble)

    def _active(self, call: HeldTask) -> Task | None:
        task = self._working.task((call.run, call.task))
        if task is None:
            return None
        if (task.machine.key, task.machine.user) != (call.machine.key, call.machine.user):
            raise ForeignTask
        return task

    def _fold(
        self, run: Run, task: Task, call: HeldTask, report: Report, now: datetime
    ) -> Decision[TaskVerdict]:
        self._measure(run, task, report, now)
        tally = run.tally.reported(task.results, report.results)
        folded = run.kind.with_report(tally.results, task.ticket, report)
        after = task.with_results(report.results, folded.ticket, now)
        if call.machine is not task.machine and call.machine != task.machine:
            after = after.described(call.machine)
        run = run.with_play(folded.kind, tally, now)
        self._working.report(run, after, now)
        if run.decided:
            # This row must not wait for those of the other tasks, because the run's sums include
            # it.
            changes = Changes(tasks=(after.closed(),))
            return Decision(DONE, changes + finish_decided(self._working, run, now))
        if after.results.games >= after.games:
            return Decision(DONE, end_task(self._working, after, now))
        return Decision(GO_ON, Changes(runs=(run,), tasks=(after,)))

    def _is_too_fast(
        self, run: Run, task: Task, call: HeldTask, report: Report, now: datetime
    ) -> bool:
        pace = self._working.paces.of(run.id, call.machine)
        least = least_game_seconds(run, call.machine, pace)
        games, slots = report.results.games, run.demands.slots(task.machine.cores)
        if not is_hasty(task, games, least, slots, now):
            return False
        if games >= LEAST_GAMES:
            return True
        new, machines = games - task.results.games, self._working.machines
        return machines.note_hasty_games(task.machine.user, new, now) >= LEAST_GAMES

    def _reject_too_fast(
        self, run: Run, task: Task, report: Report, now: datetime
    ) -> Decision[TaskVerdict]:
        """Ends a task whose games can't have been played. Its results are kept and shown but not
        counted; only the values of a tune keep what its earlier reports changed."""
        seconds = (now - task.created).total_seconds()
        message = f"{report.results.games} games in {seconds:.1f} seconds, kept apart"
        event = about_task(Action.TOO_FAST, run, task, now, message)
        struck = run.kind.may_purge
        claimed = report.results if struck else report.results - task.results
        apart = BadTask(replace(task.flagged(), results=claimed), EXCESS_RESIDUAL, Colour.RED)
        self._working.machines.note_failure(task, now)
        run, row = self._working.set_apart(task.flagged(), strike=struck)
        changes = Changes(runs=(run,), tasks=(row,), events=(event,), bad=(apart,))
        if run.decided:
            changes += finish_decided(self._working, run, now)
        return Decision(TaskVerdict(False, info=TOO_FAST), changes)

    def _measure(self, run: Run, task: Task, report: Report, now: datetime) -> None:
        # The time before the first report includes building, so it says little about games.
        games = report.results.games - task.results.games
        seconds = (now - task.reported).total_seconds()
        if task.results.games and games > 0 and seconds > 0:
            slots = run.demands.slots(task.machine.cores)
            self._working.paces.measure(
                run.id, task.machine, games=games, seconds=seconds, slots=slots
            )
            if task.machine.cores > BELIEVED_CORES:
                boards = games * run.game_seconds / seconds
                self._working.machines.note_delivered(task.machine, boards * run.demands.threads)
