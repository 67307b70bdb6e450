"""The life cycle against a model of it that knows four flags and nothing else."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from rookery.core.model.actor import Actor
from rookery.core.model.kinds import Report
from rookery.core.model.plan import Modification
from rookery.core.model.run import DisplayState, Run, RunFault
from rookery.core.model.task import Task
from rookery.server.farm.rules import lifecycle
from rookery.server.farm.rules.answers import ComplaintWeight
from rookery.server.farm.rules.assignment import Scheduler
from rookery.server.farm.rules.lifecycle import TransitionResult, modify
from rookery.server.farm.rules.reception import Reception
from rookery.server.farm.rules.working_set import WorkingSet, settle, submit
from tests.makers import (
    BOSS,
    NOW,
    OWNER,
    call_of,
    grant,
    later,
    make_machine,
    make_plan,
    make_run,
    pairs,
    sprt,
)

GAMES = 3000
people = st.sampled_from((OWNER, BOSS))


@dataclass
class Model:
    """What a run should look like from outside."""

    approved: bool = False
    finished: bool = False
    failed: bool = False
    deleted: bool = False
    games: int = 0
    planned: int = GAMES
    failures: int = 0

    @property
    def decided(self) -> bool:
        return self.games >= self.planned

    def open(self, *, approved: bool) -> None:
        self.finished = self.failed = self.deleted = False
        self.approved = approved


class LifeCycle(RuleBasedStateMachine):
    """One run through everything that people and workers can do to it."""

    @initialize()
    def begin(self) -> None:
        self.model = Model()
        self.working = WorkingSet()
        # Bounds so far apart that even results never decide the test before its last game.
        run = make_run(plan=make_plan(games=GAMES), kind=sprt(elo0=-500, elo1=500), approved=False)
        self.stored: Run = run
        submit(self.working, run, NOW)
        self.task: Task | None = None

    @property
    def run(self) -> Run:
        return self.working.runs().get(self.stored.id, self.stored)

    def settle(self, moved: TransitionResult) -> None:
        settle(self.working, moved, NOW)
        self.stored = moved.run
        if moved.run.status.finished:
            self.task = None

    def refused(self, deed: Callable[[], TransitionResult], words: str) -> None:
        with pytest.raises(RunFault, match=words):
            deed()

    @rule()
    def approve(self) -> None:
        if self.model.finished:
            self.refused(lambda: lifecycle.approve(self.run, BOSS, NOW), "a run that is")
        else:
            self.settle(lifecycle.approve(self.run, BOSS, NOW))
            self.model.approved = True

    @rule()
    def withdraw(self) -> None:
        if self.model.finished:
            self.refused(lambda: lifecycle.withdraw(self.run, BOSS, NOW), "a run that is")
        else:
            self.settle(lifecycle.withdraw(self.run, BOSS, NOW))
            self.model.approved = False

    @rule(who=people)
    def stop(self, who: Actor) -> None:
        self.settle(lifecycle.stop(self.run, who, NOW))
        self.model.finished = True

    @rule(who=people)
    def delete(self, who: Actor) -> None:
        self.settle(lifecycle.delete(self.run, who, NOW))
        self.model.finished = self.model.deleted = True

    @rule(who=people)
    def restore(self, who: Actor) -> None:
        if self.model.finished:
            self.settle(lifecycle.restore(self.run, who, NOW))
            self.model.deleted = False
        else:
            self.refused(lambda: lifecycle.restore(self.run, who, NOW), "a run that is")

    @rule(who=people)
    def reopen(self, who: Actor) -> None:
        model = self.model
        if model.failed:
            self.refused(lambda: lifecycle.reopen(self.run, who, NOW), "stopped by an error")
        elif model.decided:
            self.refused(lambda: lifecycle.reopen(self.run, who, NOW), "the run is decided")
        else:
            self.settle(lifecycle.reopen(self.run, who, NOW))
            model.open(approved=model.approved)

    @rule(who=people)
    def restart(self, who: Actor) -> None:
        model = self.model
        if model.failed:
            self.settle(lifecycle.restart(self.run, who, NOW))
            model.open(approved=model.approved and who.approver)
        elif model.finished:
            self.refused(lambda: lifecycle.restart(self.run, who, NOW), "was not stopped")

    @rule(who=people, games=st.sampled_from((1000, 2000, 3000)))
    def change_length(self, who: Actor, games: int) -> None:
        model = self.model
        self.settle(modify(self.run, Modification(games=games), who, NOW))
        model.planned = games
        withdrawn = model.failed and not who.approver
        if model.decided:
            model.finished = True
            model.approved = model.approved and not withdrawn
        else:
            model.open(approved=model.approved and not withdrawn)

    @precondition(lambda self: self.model.approved and not self.model.finished)
    @rule()
    def play(self) -> None:
        if self.run.remaining <= 0 and self.task is None:
            return
        self.task = self.task or grant(self.working, make_machine(), NOW)
        added = pairs(even=min(50, (self.task.games - self.task.results.games) // 2))
        report = Report(self.task.results + added)
        outcome = Reception(self.working).update(call_of(self.task), report, later(9999))
        self.model.games += added.games
        self.stored = outcome.changes.runs[-1]
        self.task = self.working.task((self.task.run, self.task.id))
        if self.model.decided:
            self.model.finished = True

    @precondition(lambda self: self.task is not None and not self.model.finished)
    @rule()
    def break_down(self) -> None:
        assert self.task
        outcome = Reception(self.working).stop(
            call_of(self.task), "bench", NOW, weight=ComplaintWeight.STOPS
        )
        (self.stored,) = outcome.changes.runs
        self.task = None
        self.model.finished = self.model.failed = True
        self.model.failures += 1

    @invariant()
    def agrees(self) -> None:
        if not hasattr(self, "model"):
            return
        status, model = self.run.status, self.model
        assert (status.approved, status.finished, status.failed, status.deleted) == (
            model.approved,
            model.finished,
            model.failed,
            model.deleted,
        )
        assert self.run.tally.results.games == model.games
        assert status.failures == model.failures
        assert (self.run.id in self.working.runs()) == (not model.finished)

    @invariant()
    def is_shown(self) -> None:
        if hasattr(self, "model"):
            assert self.run.display is self.expected_display()

    def expected_display(self) -> DisplayState:
        if self.model.finished:
            return DisplayState.FAILED if self.model.failed else DisplayState.FINISHED
        if self.task:
            return DisplayState.ACTIVE
        return DisplayState.PAUSED if self.model.approved else DisplayState.PENDING

    @invariant()
    def is_given_out_only_while_approved_and_open(self) -> None:
        if hasattr(self, "model"):
            chosen = Scheduler(self.working).next_in_line(make_machine("new"), NOW)
            open_now = self.model.approved and not self.model.finished
            assert (chosen is not None) == (open_now and self.run.remaining > 0)


TestLifeCycle = LifeCycle.TestCase
TestLifeCycle.settings = settings(
    max_examples=25, stateful_step_count=30, derandomize=True, deadline=None
)
