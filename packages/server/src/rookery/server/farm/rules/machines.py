"""The machines that have asked for tasks: what each plays and has played, and how many each user
has.

Part of the working set, with the same single writer. When a run ends, the states of its machines
keep naming their tasks, so readers must check whether the task is still active.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from rookery.core.model.machine import Machine
from rookery.core.model.task import Task, TaskKey
from rookery.server.farm.rules.answers import MachineBlock
from rookery.server.farm.rules.eligibility import NO_PAST, Past

# Counts tasks or cores at play per user or address, so that the end of a run takes a single step.
#
# Theory of operation. A run may end with a hundred thousand tasks, and subtracting them one by one
# would hold up the loop. So tasks are counted by span: the time from a run's first task to its end.
# The end of a run marks its span as over, and each count drops such spans when it is next read, if
# any run has ended since the last time.
#
# Part of the machine table, with the same single writer.

HOUR = timedelta(hours=1)


@dataclass(slots=True, eq=False)
class RunSpan:
    """The time from a run's first task to its end; a reopened run gets a new span."""

    over: bool = False


@dataclass(slots=True)
class _Count:
    """The count of one user or address, correct as of the first `ends` ended runs."""

    ends: int
    total: int = 0
    by_span: dict[RunSpan, int] = field(default_factory=dict)

    def change(self, span: RunSpan, by: int) -> None:
        self.total += by
        left = self.by_span.get(span, 0) + by
        if left:
            self.by_span[span] = left
        else:
            del self.by_span[span]

    def drop_over(self, ends: int) -> None:
        for span in [span for span in self.by_span if span.over]:
            self.total -= self.by_span.pop(span)
        self.ends = ends


class HourlyCounts:
    """Counts by name; each starts anew an hour after its first entry."""

    def __init__(self) -> None:
        self._counts: dict[str, tuple[datetime, int]] = {}

    def add(self, name: str, by: int, now: datetime) -> int:
        """Add to a count and return it."""
        since, before = self._counts.get(name, (now, 0))
        if now - since > HOUR:
            since, before = now, 0
        self._counts[name] = (since, before + by)
        return before + by

    def of(self, name: str, now: datetime) -> int:
        since, count = self._counts.get(name, (now, 0))
        return count if now - since <= HOUR else 0


class ActiveCounts:
    """Counts of active tasks or cores by name; a name without any is dropped."""

    def __init__(self) -> None:
        self._counts: dict[str, _Count] = {}
        self._ends = 0

    def enter(self, name: str, span: RunSpan, by: int = 1) -> None:
        count = self._counts.get(name)
        if count is None:
            count = self._counts[name] = _Count(self._ends)
        count.change(span, by)

    def leave(self, name: str, span: RunSpan, by: int = 1) -> None:
        count = self._counts[name]
        count.change(span, -by)
        if not count.total:
            del self._counts[name]

    def end(self) -> None:
        """Note that a span is over."""
        self._ends += 1

    def of(self, name: str) -> int:
        count = self._counts.get(name)
        if count is None:
            return 0
        if count.ends != self._ends:
            count.drop_over(self._ends)
            if not count.total:
                del self._counts[name]
        return count.total


MOST_SEEN = 64
"""How many runs are remembered per machine before finished ones are dropped."""
BELIEVED_CORES = 128
"""The most cores that a machine is believed to have without proof; beyond it, its tasks grow with
what it delivers."""
NEW_BOARDS = 600.0
"""The pace that a new machine is believed before it was watched, in games at once on machines of
the reference's speed: more than most machines play."""
FORGIVEN_AFTER = timedelta(hours=1)
"""How long a machine does not get a run again that failed on it; the cause may have been the
network."""


@dataclass(slots=True)
class MachineState:
    """The state of a machine, identified by its short name."""

    machine: Machine
    asked: datetime
    task: TaskKey | None = None
    last: str = ""
    seen: set[str] = field(default_factory=set)
    failed: dict[str, datetime] = field(default_factory=dict)
    broken: dict[str, datetime] = field(default_factory=dict)
    """Runs of which it said that every machine must fail, so that its restart changes nothing."""
    delivered: float = 0.0
    """The most cores that the machine's results have shown so far, assuming the expected pace."""
    shown: float = 0.0
    """The fastest pace that it has kept up while it was watched, in games at once on machines of
    the reference's speed."""

    def past(self, machine: Machine, now: datetime) -> Past:
        """Return the machine's past; failures of an earlier process or of long ago are forgiven."""
        failed = self.failed if self.machine.key == machine.key else {}
        if not (failed or self.broken):
            return Past(self.seen, self.last)
        found = failed | self.broken
        recent = {run for run, at in found.items() if now - at < FORGIVEN_AFTER}
        return Past(self.seen, self.last, recent)

    def note_request(self, machine: Machine, now: datetime) -> None:
        if self.machine.key != machine.key:
            self.failed.clear()
        self.machine, self.asked = machine, now


class MachineTable:
    """All machines that have asked for a task, and counts of their active tasks."""

    def __init__(self) -> None:
        self._states: dict[str, MachineState] = {}
        self._recalled: dict[str, tuple[set[str], str]] = {}
        self._spans: dict[str, RunSpan] = {}
        self._users = ActiveCounts()
        self._cores = ActiveCounts()
        self._addresses = ActiveCounts()
        self._hurries = HourlyCounts()
        self._wasted = HourlyCounts()
        self.blocks: dict[str, MachineBlock] = {}
        """Blocked machines by short name."""

    def note_request(self, machine: Machine, now: datetime) -> MachineState:
        """Note that a machine asks for a task, and return its state."""
        name = machine.short_name
        state = self._states.get(name)
        if state is None:
            seen, last = self._recalled.pop(name, (set(), ""))
            state = self._states[name] = MachineState(machine, now, last=last, seen=seen)
        state.note_request(machine, now)
        return state

    def past(self, machine: Machine, now: datetime) -> Past:
        if state := self._states.get(machine.short_name):
            return state.past(machine, now)
        if recalled := self._recalled.get(machine.short_name):
            return Past(*recalled)
        return NO_PAST

    def get(self, short_name: str) -> MachineState | None:
        return self._states.get(short_name)

    def knows(self, short_name: str) -> bool:
        """Whether a machine has ever asked for a task, as far as remembered."""
        return short_name in self._states or short_name in self._recalled

    def assign(self, task: Task, unfinished: Mapping[str, object]) -> None:
        """Note that a machine was given a task."""
        state = self._states.get(task.machine.short_name)
        if state is None:
            state = self.note_request(task.machine, task.created)
        state.task, state.last = (task.run, task.id), task.run
        if len(state.seen) >= MOST_SEEN:
            state.seen = {run for run in state.seen if run in unfinished}
        state.seen.add(task.run)
        span = self._spans.get(task.run)
        if span is None:
            span = self._spans[task.run] = RunSpan()
        self._users.enter(task.machine.user, span)
        self._cores.enter(task.machine.user, span, task.machine.cores)
        self._addresses.enter(task.machine.address, span)

    def release(self, task: Task) -> None:
        """Subtract an ended task from the counts, under the address stored when it was given
        out."""
        if not task.results.games:
            self._wasted.add(task.machine.user, 1, task.created)
        span = self._spans[task.run]
        self._users.leave(task.machine.user, span)
        self._cores.leave(task.machine.user, span, task.machine.cores)
        self._addresses.leave(task.machine.address, span)

    def release_run(self, run_id: str) -> None:
        """Subtract all tasks of an ended run from the counts, in one step."""
        if span := self._spans.pop(run_id, None):
            span.over = True
            self._users.end()
            self._cores.end()
            self._addresses.end()

    def note_failure(self, task: Task, now: datetime, *, lasting: bool = False) -> None:
        """Note that a machine failed on a run, so that it does not get it again for a while; a
        lasting failure outlives its worker."""
        state = self._states.get(task.machine.short_name)
        if state and state.machine.key == task.machine.key:
            (state.broken if lasting else state.failed)[task.run] = now

    def forgive(self, run_id: str) -> None:
        """Forget all failures on a run, which is reopened because its fault was mended."""
        for state in self._states.values():
            if state.failed or state.broken:
                state.failed.pop(run_id, None)
                state.broken.pop(run_id, None)

    def note_hasty_games(self, user: str, games: int, now: datetime) -> int:
        """Note games that came too fast; return how many did within the hour."""
        return self._hurries.add(user, games, now)

    def wasted_tasks(self, user: str, now: datetime) -> int:
        """How many tasks of the user ended without a game within the hour."""
        return self._wasted.of(user, now)

    def active_of_user(self, user: str) -> int:
        return self._users.of(user)

    def cores_of_user(self, user: str) -> int:
        """Return the cores of the user's active tasks."""
        return self._cores.of(user)

    def note_delivered(self, machine: Machine, cores: float) -> None:
        """Note that a machine's results require this many cores."""
        if (state := self._states.get(machine.short_name)) and cores > state.delivered:
            state.delivered = cores

    def note_shown(self, machine: Machine, boards: float) -> None:
        """Note the pace that a machine has kept up while it was watched."""
        if (state := self._states.get(machine.short_name)) and boards > state.shown:
            state.shown = boards

    def believed_boards(self, machine: Machine) -> float:
        """Return the pace that a machine is believed before it was watched in its present task: at
        most twice what it has shown in earlier ones."""
        state = self._states.get(machine.short_name)
        return max(NEW_BOARDS, 2 * state.shown if state else 0.0)

    def believed_cores(self, machine: Machine) -> int:
        """Return the cores that a machine is believed to have: what it claims, but beyond
        BELIEVED_CORES at most twice what its results have shown."""
        if machine.cores <= BELIEVED_CORES:
            return machine.cores
        state = self._states.get(machine.short_name)
        shown = int(2 * state.delivered) if state else 0
        return min(machine.cores, max(BELIEVED_CORES, shown))

    def has_others(self, user: str) -> bool:
        """Whether machines of another user have asked for tasks, too."""
        return any(state.machine.user != user for state in self._states.values())

    def is_alone(self) -> bool:
        """Whether no more than one machine has asked for a task."""
        return len(self._states) <= 1

    def active_at_address(self, address: str) -> int:
        return self._addresses.of(address)

    def states(self) -> Iterable[MachineState]:
        return self._states.values()

    def restore(self, short_name: str, seen: Iterable[str], last: str) -> None:
        """Restore a machine's history from before the server was started, for when it asks
        again."""
        self._recalled[short_name] = (set(seen), last)

    def names(self) -> tuple[str, ...]:
        """Return the short names of all machines that are remembered."""
        return tuple(self._states)

    def waiting(
        self, names: Iterable[str], since: datetime, is_active: Callable[[TaskKey], object]
    ) -> list[Machine]:
        """Those of the machines that asked since `since` and have no active task."""
        return [
            state.machine
            for state in filter(None, map(self._states.get, names))
            if state.asked >= since and not (state.task and is_active(state.task))
        ]

    def forget(
        self, names: Iterable[str], before: datetime, is_active: Callable[[TaskKey], object]
    ) -> None:
        """Drop those of the machines that have not asked since `before` and have no active task."""
        for name in names:
            state = self._states.get(name)
            if state and state.asked < before and not (state.task and is_active(state.task)):
                del self._states[name]
