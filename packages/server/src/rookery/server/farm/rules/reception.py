"""Decides how workers' signs of life, results and failures change their tasks and runs."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from itertools import islice

from msgspec.structs import asdict
from msgspec.structs import replace as with_fields

from rookery.core.model.events import MOST_CHARACTERS, NOT_AUTHORIZED, Action, about_task
from rookery.core.model.kinds import Report
from rookery.core.model.run import FOREIGN_TASK, Run, RunFault
from rookery.core.model.task import PlayedBatch, Task, Ticket
from rookery.core.model.timecontrol import is_timed
from rookery.core.stats.residuals import EXCESS_RESIDUAL, Colour
from rookery.server.farm.rules import lifecycle
from rookery.server.farm.rules.answers import (
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
from rookery.server.farm.rules.assignment import LEAST_PATIENCE_SECONDS, report_timeout
from rookery.server.farm.rules.eligibility import STANDARD_POLICY, Policy
from rookery.server.farm.rules.judgement import (
    LEAST_GAMES,
    Weight,
    is_hasty,
    judge,
    least_game_seconds,
    shown_boards,
    watched_seconds,
)
from rookery.server.farm.rules.machines import BELIEVED_CORES
from rookery.server.farm.rules.observations import TaskFailure
from rookery.server.farm.rules.purge import BadTask
from rookery.server.farm.rules.working_set import (
    WorkingSet,
    end_dead_task,
    end_task,
    fail_task,
    finish_decided,
    settle,
)

MOST_AT_ONCE = 500
"""How many dead tasks are ended at once, so that many deaths don't hold up other calls."""
MOST_LOOKED_AT = 2_000
"""How many silent tasks are examined at once; those of finished runs are still among them."""

HOPELESS = "Another machine found the same, so the run was stopped: none could play it."
TOO_FAST = "these games can't have been played in so short a time: they are kept apart"
KEPT_APART = TaskVerdict(False, info=TOO_FAST)
PUT_OFF = TaskVerdict(
    True,
    info="so many games of a new machine count with a later report, when it has played for longer",
)


def answer_after_end(task: Task | None, call: HeldTask, report: Report) -> TaskVerdict:
    """Return the answer to a report about a task that has ended. The report that ended it may come
    again, if its answer got lost: it gets the same answer, since its games count."""
    if task is None or not call.is_about(task):
        return OVER
    if task.too_fast:
        return KEPT_APART
    counts = task.results.games > 0 and task.results == report.results
    return DONE if counts else OVER


class Reception:
    """Answers beats, reports and failures, and keeps the working set up to date."""

    def __init__(self, working: WorkingSet, policy: Policy = STANDARD_POLICY) -> None:
        self._working = working
        self._policy = policy

    def beat(self, call: HeldTask, now: datetime) -> TaskVerdict:
        """Note a sign of life, which needs no row."""
        if self._active(call) is None:
            return OVER
        self._working.last_seen.note((call.run, call.task), now)
        return GO_ON

    def update(self, call: HeldTask, report: Report, now: datetime) -> Decision[TaskVerdict]:
        """Take all results of a task so far."""
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
        if not self._policy.simulated:
            if self._is_too_fast(run, task, call, report, now):
                return self._reject_too_fast(run, task, report, now)
            if not self._is_believed(run, task, report, now):
                return self._put_off(run, task, report, now)
        return self._fold(run, task, call, report, now)

    def issue(self, call: HeldTask, ticket: Ticket, now: datetime) -> Decision[TaskVerdict]:
        """Store what the task must remember until its next report, replacing the previous
        ticket."""
        task = self._active(call)
        if task is None:
            return Decision(OVER)
        after = task.with_results(task.results, ticket, task.reported)
        self._working.annotate(after, now)
        return Decision(GO_ON, Changes(tasks=(after,)))

    def fail(
        self, call: HeldTask, message: str, now: datetime, weight: ComplaintWeight | None = None
    ) -> Decision[TaskVerdict]:
        """End a task that its worker could not continue. `weight` is what its word counts if it
        says that every machine must fail; a run of which two say the same, while no game of it was
        played, is stopped."""
        task = self._active(call)
        if task is None:
            return Decision(OVER)
        if not task.results.games:
            self._working.machines.note_failure(task, now, lasting=weight is not None)
        if weight is None or not self._is_hopeless(task, weight, message):
            return Decision(DONE, self._failed(task, message, now))
        run = self._working.runs()[task.run]
        words = f"{message[: MOST_CHARACTERS - len(HOPELESS) - 1]} {HOPELESS}"
        event = about_task(Action.STOP_RUN, run, task, now, words)
        return Decision(DONE, settle(self._working, lifecycle.fail(run, event), now))

    def stop(
        self,
        call: HeldTask,
        message: str,
        now: datetime,
        *,
        weight: ComplaintWeight,
        complaint: str = "",
    ) -> Decision[StopAnswer]:
        """Handle a worker's claim that the run itself is broken. The run is stopped if the reporter
        is trusted or owns the run, or if several users agree; else only this machine gives up the
        run. `complaint` is the part of the message that users must agree on, if it is not all of
        it."""
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

    def _is_hopeless(self, task: Task, weight: ComplaintWeight, message: str) -> bool:
        """Whether enough machines say so. Those of an ordinary user count once together, because
        names of machines can be invented."""
        run = self._working.runs()[task.run]
        if run.tally.results.games or weight is ComplaintWeight.NOTED:
            return False
        machine = task.machine
        is_trusted = weight is ComplaintWeight.STOPS or machine.user == run.plan.owner
        voice = machine.short_name if is_trusted else machine.user
        voices = self._working.failures.complain(task.run, message, voice)
        return voices >= self._policy.users_to_stop

    def _is_agreed(self, task: Task, weight: ComplaintWeight, complaint: str) -> bool:
        if weight is ComplaintWeight.NOTED:
            return False
        users = self._working.failures.complain(task.run, complaint, task.machine.user)
        return users >= self._policy.users_to_stop

    def expire(self, now: datetime, most: int = MOST_AT_ONCE) -> Changes:
        """End tasks that have been silent for too long; to be called again while there are more."""
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
        """End those of the tasks that are stalled, so that others can play their games."""
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
        if not call.is_about(task):
            raise RunFault(FOREIGN_TASK)
        return task

    def _fold(
        self, run: Run, task: Task, call: HeldTask, report: Report, now: datetime
    ) -> Decision[TaskVerdict]:
        self._measure(run, task, report, now)
        tally = run.tally.reported(task.results, report.results)
        folded = run.kind.with_report(tally.results, task.ticket, report)
        after = task.with_results(report.results, folded.ticket, now)
        if call.machine is not task.machine:
            after = after.described(call.machine)
        run = run.with_play(folded.kind, tally, now)
        self._working.report(run, after, now)
        origins = _list_origins(task, report, now)
        if run.decided:
            # This row must not wait for those of the other tasks, because the run's sums include
            # it.
            changes = Changes(tasks=(after.closed(),), provenance=origins)
            return Decision(DONE, changes + finish_decided(self._working, run, now))
        if after.results.games >= after.games:
            changes = end_task(self._working, after, now)
            return Decision(DONE, with_fields(changes, provenance=origins))
        return Decision(GO_ON, Changes(runs=(run,), tasks=(after,), provenance=origins))

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

    def _is_believed(self, run: Run, task: Task, report: Report, now: datetime) -> bool:
        """Whether a machine has played for long enough in real time, in this task or before, that
        its pace is more than a claim. Only a clock shows that; and tunes have no verdict."""
        timed = is_timed(run.plan.time_control)
        games, machines = report.results.games, self._working.machines
        if not timed or not run.kind.may_purge or games < LEAST_GAMES:
            return True
        seconds = (now - task.created).total_seconds()
        boards = shown_boards(run, games, seconds)
        if seconds < watched_seconds(run):
            return boards <= machines.believed_boards(task.machine)
        machines.note_shown(task.machine, boards)
        return True

    def _put_off(
        self, run: Run, task: Task, report: Report, now: datetime
    ) -> Decision[TaskVerdict]:
        """Leave a report of a new machine uncounted. Reports are cumulative, so the next one brings
        the same games; a last one is kept apart."""
        if report.results.games >= task.games:
            return self._reject_too_fast(run, task, report, now)
        self._working.last_seen.note((task.run, task.id), now)
        return Decision(PUT_OFF)

    def _reject_too_fast(
        self, run: Run, task: Task, report: Report, now: datetime
    ) -> Decision[TaskVerdict]:
        """End a task whose games can't have been played. Its results are kept and shown but not
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
        return Decision(KEPT_APART, changes)

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


def _list_origins(task: Task, report: Report, now: datetime) -> tuple[PlayedBatch, ...]:
    """How the games were played that a report adds to its task, as far as its worker told."""
    games = report.results.games - task.results.games
    if report.provenance is None or games <= 0:
        return ()
    how = asdict(report.provenance)
    return (PlayedBatch(run=task.run, task=task.id, at=now, games=games, **how),)
