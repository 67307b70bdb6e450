"""Diagnoses whether and why a run makes no progress: one finding, a sentence and the evidence.

Findings use the scheduler's own predicates, applied to each machine of the fleet: a run is
"waiting" exactly when some machine would get it if it asked now.
"""

import enum
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from rookery.core.model.machine import Machine
from rookery.core.model.run import Run
from rookery.core.model.task import Task
from rookery.server.farm.rules.eligibility import EngineLoads, Past, Reason, objection, rank
from rookery.server.farm.rules.observations import TaskFailure
from rookery.server.farm.rules.working_set import WorkingSet

# The fleet as the scheduler sees it: the machines that ask or play, and the run that each would
# get.

STILL_THERE = timedelta(minutes=20)
"""How long an idle machine counts as present; an idle worker asks at least every quarter of an
hour."""


@dataclass(frozen=True, slots=True)
class Member:
    """A machine of the fleet, with its past."""

    machine: Machine
    past: Past


class FleetView:
    """A view of the working set that changes nothing."""

    def __init__(self, working: WorkingSet, now: datetime) -> None:
        self._working = working
        self._now = now

    def members(self, most: int) -> list[Member]:
        """Machines that play or have asked recently and are not blocked; idle ones first, since
        they ask next."""
        machines, now = self._working.machines, self._now
        found = (
            (state.machine, state, self._working.task(state.task) if state.task else None)
            for state in machines.states()
            if state.machine.short_name not in machines.blocks
        )
        members = [
            (task is not None, machine, state)
            for machine, state, task in found
            if task or now - state.asked <= STILL_THERE
        ]
        members.sort(key=lambda member: member[0])
        return [Member(machine, state.past(machine, now)) for _, machine, state in members[:most]]

    def choice(self, member: Member) -> Run | None:
        """Return the run that this machine would get if it asked now."""
        return self._working.would_play(member.machine, self._now)

    def tasks(self, run_id: str) -> Sequence[Task]:
        return tuple(self._working.tasks(run_id))

    def failures(self, run_id: str) -> tuple[TaskFailure, ...]:
        return self._working.failures.of(run_id)

    def engine_loads(self) -> EngineLoads:
        return self._working.index.engine_loads()


BUILD_TIME = timedelta(minutes=20)
"""The time allowed for building the engines before the first report."""
PATIENCE = timedelta(minutes=15)
REPORTS_MISSED = 4
MANY_FAILURES = 3
AHEAD = "ahead: "
"""The prefix of evidence about another run, followed by that run's id."""
MOST_MACHINES = 2000
MOST_ASKED = 200
"""The most machines for which the scheduler is asked, so that a diagnosis does not hold up the
event loop; in a larger fleet they stand for all."""


class RunFinding(enum.StrEnum):
    """The possible results of a diagnosis."""

    FINISHED = "finished"
    STOPPED_BY_ERROR = "stopped by error"
    AWAITING_APPROVAL = "awaiting approval"
    RUNNING = "running"
    STALLED = "stalled"
    STARTING = "starting"
    FAILING = "failing"
    NO_WORKERS = "no workers"
    NO_ELIGIBLE_WORKERS = "no eligible workers"
    OUTRANKED = "outranked"
    LOW_SHARE = "low share"
    WAITING = "waiting"


@dataclass(frozen=True, slots=True)
class RunDiagnosis:
    """A finding with a sentence and the figures that support it."""

    finding: RunFinding
    sentence: str
    evidence: tuple[tuple[str, str], ...] = ()


def diagnose(run: Run, fleet: FleetView, now: datetime) -> RunDiagnosis:
    """Find out whether this run makes progress, and if not, why."""
    return (
        _by_status(run)
        or _by_failures(run, fleet)
        or _by_tasks(run, fleet.tasks(run.id), now)
        or _by_machines(run, fleet)
    )


def _by_status(run: Run) -> RunDiagnosis | None:
    status = run.status
    if status.finished and status.failed:
        text = "a worker reported the run as broken, and it was stopped"
        return RunDiagnosis(
            RunFinding.STOPPED_BY_ERROR, text, (("times stopped", str(status.failures)),)
        )
    if status.finished:
        games = str(run.tally.results.games)
        return RunDiagnosis(RunFinding.FINISHED, "the run is finished", (("games", games),))
    if not status.approved:
        return RunDiagnosis(RunFinding.AWAITING_APPROVAL, "an approver must approve the run first")
    return None


def _by_failures(run: Run, fleet: FleetView) -> RunDiagnosis | None:
    failures = fleet.failures(run.id)
    workers = {failure.worker for failure in failures}
    if len(failures) < MANY_FAILURES and len(workers) < 2:
        return None
    text = f"{len(failures)} tasks failed since the last result, on {len(workers)} workers"
    evidence = tuple((failure.worker, failure.message[:200]) for failure in failures)
    return RunDiagnosis(RunFinding.FAILING, text, evidence)


def _by_tasks(run: Run, tasks: Sequence[Task], now: datetime) -> RunDiagnosis | None:
    if not tasks:
        return None
    evidence = (("machines", str(len(tasks))), ("cores", str(run.tally.cores)))
    patience = longest_report_timeout(run, tasks)
    if any(task.results.games for task in tasks) and now - run.updated <= patience:
        return RunDiagnosis(RunFinding.RUNNING, "results are coming in", evidence)
    oldest = min(task.reported for task in tasks)
    if now - oldest <= patience + BUILD_TIME:
        what = "new tasks of the run" if run.tally.results.games else "the run"
        text = f"machines have {what} and are building or playing their first games"
        return RunDiagnosis(RunFinding.STARTING, text, evidence)
    minutes = int((now - max(run.updated, oldest)).total_seconds() / 60)
    text = f"machines have the run, but nothing came in for {minutes} minutes"
    return RunDiagnosis(RunFinding.STALLED, text, evidence)


def longest_report_timeout(run: Run, tasks: Sequence[Task]) -> timedelta:
    """How long active machines may report no results before something is wrong."""
    slots = max(run.demands.slots(task.machine.cores) for task in tasks)
    batch = run.game_seconds * max(1.0, run.kind.step / slots)
    return max(PATIENCE, timedelta(seconds=REPORTS_MISSED * batch))


def _by_machines(run: Run, fleet: FleetView) -> RunDiagnosis:
    members = fleet.members(MOST_MACHINES)
    if not members:
        return RunDiagnosis(RunFinding.NO_WORKERS, "no worker is connected")
    refused = [(member, objection(run, member.machine, member.past)) for member in members]
    eligible = [member for member, reason in refused if reason is None]
    if not eligible:
        return _not_eligible([reason for _, reason in refused if reason])
    chosen = [(member, fleet.choice(member)) for member in eligible[:MOST_ASKED]]
    ready = sum(1 for _, choice in chosen if choice and choice.id == run.id)
    evidence = (("machines", str(len(members))), ("eligible", str(len(eligible))))
    if ready:
        text = "the run is next in line for a machine that asks for work"
        return RunDiagnosis(RunFinding.WAITING, text, (*evidence, ("next for", str(ready))))
    return _passed_over(run, chosen, fleet, evidence)


def _not_eligible(reasons: Sequence[Reason]) -> RunDiagnosis:
    counts = Counter(reason.sentence for reason in reasons).most_common()
    text = f"none of {len(reasons)} machines can play the run; mostly, {counts[0][0]}"
    evidence = tuple((sentence, str(number)) for sentence, number in counts)
    return RunDiagnosis(RunFinding.NO_ELIGIBLE_WORKERS, text, evidence)


def _passed_over(
    run: Run,
    chosen: Sequence[tuple[Member, Run | None]],
    fleet: FleetView,
    evidence: tuple[tuple[str, str], ...],
) -> RunDiagnosis:
    loads = fleet.engine_loads()
    winners: Counter[str] = Counter()
    outranked = True
    for member, choice in chosen:
        assert choice is not None, "an eligible machine is always given something"
        winners[choice.id] += 1
        mine = rank(run, member.machine, member.past, loads)
        theirs = rank(choice, member.machine, member.past, loads)
        outranked = outranked and theirs[:2] < mine[:2]
    ahead = tuple((f"{AHEAD}{run_id}", str(number)) for run_id, number in winners.most_common(5))
    if outranked:
        text = "runs of higher priority take every machine that could play this one"
        return RunDiagnosis(RunFinding.OUTRANKED, text, (*evidence, *ahead))
    text = "other runs of the same priority have fewer cores for their share and come first"
    share = ("share", f"{run.share:.1f}")
    return RunDiagnosis(RunFinding.LOW_SHARE, text, (*evidence, share, *ahead))
