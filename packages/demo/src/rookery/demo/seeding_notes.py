"""Invents notes about runs: how their tasks failed, and what a review of their sources found.

Randomness for notes is derived from the run's id, so that the games of a history do not depend on
the notes.
"""

from collections.abc import Iterator, Sequence
from random import Random

from rookery.core.model.events import Action, Event, about_task
from rookery.core.model.run import Run
from rookery.core.model.task import Task
from rookery.server.farm.rules.review import ReviewFacts, SourceFacts
from rookery.server.farm.rules.working_set import excess_event

FAILURES = (
    "The engine disconnected unexpectedly.",
    "Wrong bench: 1284120 instead of 1284119.",
    "The download of the opening book timed out.",
    "Make failed: No space left on device.",
)
REPEATED = (
    "Wrong bench: {number} instead of {bench}.",
    "The engine did not answer 'isready' within {short} s.",
    "The engine disconnected unexpectedly in game {short}.",
    "Make failed: ld returned {short} exit status.",
    "The download of the net timed out after {short} s.",
)
"""Messages that several machines report about one run, each with different numbers."""
RUNS_WITH_TROUBLE = 0.15
MOST_REPEATED = 14
MOST_EARLIER_RUNS = 60
UNREAD_SOURCES = 0.05
OFF_THE_BRANCH = 0.08


def invent_failure(chance: Random, run: Run, task: Task) -> Event:
    """Return a failure whose message usually occurs only once in the run."""
    draw = chance.random()
    if draw < 0.2:
        return about_task(Action.DEAD_TASK, run, task, task.reported)
    if draw < 0.4:
        return about_task(Action.WORKER_LOG, run, task, task.reported, "Low on disk space.")
    return about_task(Action.FAILED_TASK, run, task, task.reported, chance.choice(FAILURES))


def invent_repeated_failures(run: Run, tasks: Sequence[Task]) -> Iterator[Event]:
    """Yield the events of tasks with too many crashes, and in some runs a problem that several
    machines have one after the other."""
    for task in tasks:
        if task.results.excessive():
            yield excess_event(run, task, task.reported)
    chance = Random(f"failures of {run.id}")  # noqa: S311 - no secret
    if not tasks or chance.random() > RUNS_WITH_TROUBLE:
        return
    words = chance.choice(REPEATED)
    number = min(len(tasks), chance.randint(2, MOST_REPEATED))
    for task in sorted(chance.sample(tasks, number), key=lambda one: one.id):
        said = words.format(
            number=chance.randint(1_000_000, 1_900_000),
            bench=run.plan.new.signature,
            short=chance.randint(1, 60),
        )
        yield about_task(Action.FAILED_TASK, run, task, task.reported, said)


def invent_review(run: Run) -> ReviewFacts:
    """Return the review that a server would have made of the sources of a run, which don't
    exist."""
    chance = Random(f"review of {run.id}")  # noqa: S311 - no secret
    earlier = chance.randint(0, MOST_EARLIER_RUNS)
    if chance.random() < UNREAD_SOURCES:
        return ReviewFacts(earlier, SourceFacts(trouble="the server did not answer within 60 s"))
    new, base = run.plan.sides
    return ReviewFacts(
        earlier,
        SourceFacts(
            ancestor=chance.random() >= OFF_THE_BRANCH,
            base_on_main=chance.random() >= OFF_THE_BRANCH,
            files=chance.randint(1, 6),
            added=int(chance.expovariate(1 / 40)) + 1,
            removed=int(chance.expovariate(1 / 30)),
            message_bench=new.signature,
            base_message_bench=base.signature,
        ),
    )
