"""Runs: a plan with its kind, its state in the life cycle and the sums over its tasks."""

import enum
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from rookery.core.errors import BadInput, Fault, NotAllowed, NotNow
from rookery.core.model.engine import STOCKFISH, Catalogue, time_factor
from rookery.core.model.kinds import Kind, Outcome
from rookery.core.model.machine import Machine
from rookery.core.model.plan import Demands, Plan, demands_of
from rookery.core.model.task import EMPTY, Tally, Task
from rookery.core.stats.sprt import Flag

START_SHARE = 100.0


class DisplayState(enum.StrEnum):
    """The states of a run that lists show."""

    PENDING = "pending"
    PAUSED = "paused"
    ACTIVE = "active"
    FINISHED = "finished"
    FAILED = "failed"


class DecidedBy(enum.StrEnum):
    """Why a verdict is to be doubted: nearly all results are from one machine or one user, or half
    of them are from machines of newcomers. A newcomer is a user whose account is too young, or
    whose machines have contributed too little, to have standing."""

    NOBODY = ""
    MACHINE = "machine"
    USER = "user"
    NEWCOMERS = "newcomers"

    @property
    def words(self) -> str:
        """Who decided, in words; empty for nobody."""
        return _DECIDERS[self]


_DECIDERS = {
    DecidedBy.NOBODY: "",
    DecidedBy.MACHINE: "one machine",
    DecidedBy.USER: "one user",
    DecidedBy.NEWCOMERS: "new machines",
}


@dataclass(frozen=True, slots=True)
class Status:
    """The state of a run in its life cycle; only `lifecycle` creates new ones."""

    approver: str = ""
    finished: bool = False
    failed: bool = False
    deleted: bool = False
    failures: int = 0
    flag: Flag = Flag.NONE
    decided_by: DecidedBy = DecidedBy.NOBODY

    @property
    def approved(self) -> bool:
        return bool(self.approver)


PENDING = Status()


@dataclass(frozen=True, slots=True)
class Run:
    """One test. `share` is its internal throughput, its weight against other runs.

    Ids sort in the order of creation, which decides between equal claims on a machine.
    """

    id: str
    plan: Plan
    kind: Kind
    demands: Demands
    created: datetime
    updated: datetime
    status: Status = PENDING
    tally: Tally = EMPTY
    share: float = START_SHARE
    reference_nps: float = 0.0
    rescheduled_from: str = ""

    @property
    def remaining(self) -> int:
        """Games that have not been given out yet."""
        return self.plan.games - self.tally.committed

    @property
    def decided(self) -> bool:
        return self.kind.is_decided(self.tally.results, self.plan.games)

    @property
    def game_seconds(self) -> float:
        """The expected length of a game on a machine of reference speed."""
        return self.plan.time_control.game_seconds(self.reference_nps)

    @property
    def display(self) -> DisplayState:
        status = self.status
        if status.finished:
            return DisplayState.FAILED if status.failed else DisplayState.FINISHED
        if self.tally.workers > 0:
            return DisplayState.ACTIVE
        return DisplayState.PAUSED if status.approved else DisplayState.PENDING

    @property
    def outcome(self) -> Outcome | None:
        """What the run's end means: OPEN if it played all it should and nothing was asked; None
        before its end."""
        if not self.status.finished:
            return None
        if self.status.failed or not self.decided:
            return Outcome.STOPPED
        return self.kind.outcome(self.tally.results)

    def with_share(self, share: float) -> "Run":
        return self._with(self.kind, self.updated, self.tally, share)

    def with_tally(self, tally: Tally) -> "Run":
        return self._with(self.kind, self.updated, tally, self.share)

    def with_play(self, kind: Kind, tally: Tally, updated: datetime) -> "Run":
        """Return the run after a result was accepted."""
        return self._with(kind, updated, tally, self.share)

    def _with(self, kind: Kind, updated: datetime, tally: Tally, share: float) -> "Run":
        # Not dataclasses.replace, which is several times slower: this is the hot path.
        return Run(
            self.id,
            self.plan,
            kind,
            self.demands,
            self.created,
            updated,
            self.status,
            tally,
            share,
            self.reference_nps,
            self.rescheduled_from,
        )


def create(
    run_id: str,
    plan: Plan,
    kind: Kind,
    catalogue: Catalogue,
    now: datetime,
    *,
    median_nps: float = 0.0,
) -> Run:
    """Return a new run: unapproved, nothing played. An engine without a reference speed gets the
    median of the machines seen so far, which stays with the run for good."""
    reference = catalogue.record(plan.engine).speed.reference or median_nps or STOCKFISH_NPS
    return Run(
        id=run_id,
        plan=plan,
        kind=kind,
        demands=demands_of(plan, catalogue, kind.needs()),
        created=now,
        updated=now,
        reference_nps=reference,
    )


STOCKFISH_NPS = STOCKFISH.speed.reference or 0.0


def nodes_per_second(tasks: Iterable[Task]) -> float:
    """Return the nodes per second over all cores of the active tasks."""
    return sum(task.machine.cores * task.machine.nps for task in tasks if task.active)


def games_per_minute(run: Run, tasks: Iterable[Task]) -> float:
    """Return the games per minute that the active tasks of a run should play."""
    return machines_pace(run, (task.machine for task in tasks if task.active))


def machines_pace(run: Run, machines: Iterable[Machine]) -> float:
    """Return the games of a run per minute on these machines, if they play nothing else. A slower
    machine gets more time for a game. A machine of unknown speed counts as the reference."""
    scaled, reference = run.plan.is_scaled, run.reference_nps
    slots = sum(
        run.demands.slots(machine.cores) / (time_factor(reference, machine.nps) if scaled else 1.0)
        for machine in machines
    )
    return slots * 60 / run.game_seconds


def core_hours(run: Run, games: int) -> float:
    """Return the work in `games` games of a run, in hours of one core of reference speed."""
    return games * run.demands.threads * run.game_seconds / 3600


# The reasons why a command on a run is refused.

NOT_APPROVER = "only an approver may do this"
FOREIGN_TASK = "the task belongs to another worker"
HAS_FAILED = "the run was stopped by an error; start it again first"


class RunFault(NotNow, Fault):
    """this can't be done with the run"""


class NotYours(NotAllowed, RunFault):
    """only the run's owner or an approver may do this"""


class BadGameCount(BadInput, RunFault):
    """the number of games must be a multiple of {step} from 0 to {most}"""


class GamesCannotChange(BadInput, RunFault):
    """{why}"""
