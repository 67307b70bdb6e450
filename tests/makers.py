"""Makes what the farm's rules know for tests; offers the values of tests/values.py as well."""

from datetime import datetime

from rookery.core.model.actor import Actor
from rookery.core.model.machine import Machine
from rookery.core.model.run import Run
from rookery.core.model.task import Task
from rookery.server.farm.rules.answers import Grant, HeldTask
from rookery.server.farm.rules.assignment import Scheduler
from rookery.server.farm.rules.working_set import WorkingSet
from tests.values import *  # noqa: F403 - all that it makes
from tests.values import NOW

OWNER = Actor("olga")
BOSS = Actor("boris", approver=True)
STRANGER = Actor("sven")


def working_with(*runs: Run) -> WorkingSet:
    working = WorkingSet()
    for run in runs:
        working.admit(run, (), NOW)
    return working


def grant(working: WorkingSet, machine: Machine, now: datetime = NOW) -> Task:
    """Gives a machine a task, and fails if there is none."""
    answer = Scheduler(working).request(machine, now).answer
    assert isinstance(answer, Grant), answer
    return answer.task


def call_of(task: Task) -> HeldTask:
    return HeldTask(task.run, task.id, task.machine)
